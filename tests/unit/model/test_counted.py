"""Counts are reused for changes that do not touch them, and for no others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from support.generate import kernels
from support.kernels import gemm
from support.properties import examples
from tirlens.advice import rewrite
from tirlens.hardware import load
from tirlens.model import analyze, count_workload, workload_of
from tirlens_worker.facts import Branch, KernelFacts, Loop, LoweredLaunch, Node, Statement

from .test_formula import tiled_gemm


def restaged(node: Node) -> Node:
    if isinstance(node, Loop) and node.kind == "serial":
        return replace(node, kind="pipelined", annotations={"num_stages": 3})
    return replace(node, label="as before") if isinstance(node, (Loop, Statement)) else node


@examples(40)
@given(kernels())
def test_what_is_not_counted_may_change(case: tuple[KernelFacts, dict[str, int]]) -> None:
    facts, bindings = case
    changed = rewrite.change(facts, restaged)
    reused = count_workload(facts, bindings).for_facts(changed, bindings)
    assert reused is not None
    fresh = count_workload(changed, bindings)
    assert (reused.counts, reused.counted.footprint) == (fresh.counts, fresh.counted.footprint)


def longer(node: Node) -> Node:
    return replace(node, extent=("+", node.extent, 1)) if isinstance(node, Loop) else node


def guarded(node: Node) -> Node:
    return Branch(("<", 0, 1), (node,)) if isinstance(node, Statement) else node


def by_thread(node: Node) -> Node:
    return replace(node, per="thread") if isinstance(node, Statement) else node


@pytest.mark.parametrize("edit", [longer, guarded, by_thread])
def test_what_is_counted_may_not(edit) -> None:
    facts = tiled_gemm(512, 512, 512, ())
    assert count_workload(facts, {}).for_facts(rewrite.change(facts, edit), {}) is None


def test_other_sizes_are_counted_anew() -> None:
    facts = tiled_gemm("M", 512, 512, ("M",))
    known = count_workload(facts, {"M": 512})
    assert known.for_facts(facts, {"M": 513}) is None
    assert analyze(facts, load("h200"), {"M": 513}, known) == analyze(
        facts, load("h200"), {"M": 513}
    )


@pytest.mark.parametrize("device", ["h200", "a100-80-sxm"])
def test_a_report_is_the_same_with_known_counts(device: str) -> None:
    facts = tiled_gemm(1024, 1024, 1024, ())
    known = count_workload(facts, {})
    for changed in (facts, rewrite.change(facts, restaged), rewrite.with_panel(facts, 8)):
        assert analyze(changed, load(device), {}, known) == analyze(changed, load(device))


def staged(node: Node) -> Node:
    if isinstance(node, Loop) and node.kind == "serial":
        return replace(node, kind="pipelined", annotations={"num_stages": 3})
    return node


def unrolled(node: Node) -> Node:
    return replace(node, kind="unroll") if isinstance(node, Loop) else node


@examples(15)
@given(kernels())
def test_what_statements_do_is_taken_over(case: tuple[KernelFacts, dict[str, int]]) -> None:
    facts, bindings = case
    known = count_workload(facts, bindings)
    for changed in (facts, rewrite.change(facts, staged), rewrite.change(facts, unrolled)):
        for device in map(load, ("h200", "x86-avx2", "a100-80-sxm", "h200")):
            assert analyze(changed, device, bindings, known) == analyze(changed, device, bindings)


def test_another_launch_of_the_same_body_is_told_from_it() -> None:
    facts, device = gemm(16384, 16384, 4096), load("h200")
    known = count_workload(facts, {})
    for changed in (
        rewrite.with_panel(facts, 8),
        replace(facts, lowered=(LoweredLaunch("sm_90", 512, 200_000),)),
    ):
        assert analyze(changed, device, {}, known) == analyze(changed, device)
        assert analyze(changed, device) != analyze(facts, device)


def test_facts_too_deep_to_follow_are_an_error_and_no_exception() -> None:
    facts = gemm(64, 64, 64)
    around = next(node for node in facts.body if isinstance(node, Loop))
    for number in range(2000):
        inside = replace(around, var=f"v{number}", extent=2, body=facts.body)
        facts = replace(facts, body=(inside,))
    assert workload_of(facts) is None
    report = analyze(facts, load("h200"))
    assert report.status == "error"
    assert "the model could not handle this kernel" in report.message
    assert report.time_s is None
