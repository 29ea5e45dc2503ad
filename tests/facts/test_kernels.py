"""The facts of real kernels against what stands beneath their lines, for every framework."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from facts.expectations import expected, observed, without_ends
from support.requests import request_of
from support.workers import analyzed
from tirlens import model
from tirlens.hardware import load
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_worker.facts import KernelFacts, Statement

KERNELS = Path(__file__).parent / "kernels"
TVM = ("tvm-0.26.0", "tvm-0.27.0.post1")
TILELANG, TIRX = "tilelang-0.1.15", "tirx-0.1.0a4"
CASES = [(name, path.stem) for name in TVM for path in sorted(KERNELS.glob("tvm_*.py"))] + [
    (name, path.stem)
    for name, files in ((TILELANG, "tilelang_*.py"), (TIRX, "tirx_*.py"))
    for path in sorted(KERNELS.glob(files))
]

pytestmark = pytest.mark.slow


@cache
def facts_of(environment_name: str, stem: str) -> tuple[KernelFacts, ...]:
    """The facts of all kernels of a file."""
    path = KERNELS / f"{stem}.py"
    request = request_of(path, path.read_text(encoding="utf-8"), limit_s=60.0)
    result = analyzed(environment_name, request)
    assert result.problems == () and result.needs == ()
    return result.kernels


@pytest.mark.parametrize(("environment_name", "stem"), CASES)
def test_what_stands_beneath_a_line_is_what_it_does(environment_name: str, stem: str) -> None:
    source = (KERNELS / f"{stem}.py").read_text(encoding="utf-8")
    wanted = expected(source)
    found = observed(facts_of(environment_name, stem), source, KERNELS)
    assert without_ends(found, wanted) == wanted


@pytest.mark.parametrize("stem", [stem for name, stem in CASES if name == TVM[0]])
def test_versions_agree(stem: str) -> None:
    older, newer = (facts_of(name, stem) for name in TVM)
    assert [one.framework_version for one in older] != [one.framework_version for one in newer]
    assert [replace(one, framework_version="") for one in older] == [
        replace(one, framework_version="") for one in newer
    ]


def test_only_what_is_not_exact_has_a_caveat() -> None:
    cautions = {
        (kernel.name, caveat.message)
        for name, stem in CASES
        for kernel in facts_of(name, stem)
        for caveat in kernel.caveats
    }
    assert cautions == {
        ("searching", "a jump leaves an iteration early: counts are upper bounds"),
        ("of_data", "how often this loop repeats depends on data: while_1=8 is assumed"),
    }


def test_a_line_that_python_repeats_is_one_entry_with_the_sum() -> None:
    (kernel,) = (one for one in facts_of(TILELANG, "tilelang_macros") if one.name == "unrolled")
    report = model.analyze(kernel, load("h100-sxm"))
    entries = list(_entries(report.loops))
    (copy,) = (one for one in entries if one.span.line == _line_of("T.copy(Ä[0:rows]"))
    assert copy.global_bytes == (16 + 32) * 4
    # Loops of different lengths stay apart.
    scale = [one for one in entries if one.span.line == _line_of("scale(tile, rows)")]
    assert [one.flop for one in scale if one.kind == "parallel"] == [16, 32]


def test_what_is_started_by_cp_async_arrives_at_its_barrier() -> None:
    (kernel,) = facts_of(TILELANG, "tilelang_async")
    found = [node for node in walk_nodes(kernel.body) if isinstance(node, Statement)]
    assert [[access.route for access in one.accesses] for one in found] == [["async"] * 2, [], []]
    assert [(signal.kind, signal.count) for one in found for signal in one.signals] == [
        ("fetch", 32),
        ("wait", 32),
    ]


def test_pointers_without_restrict_may_overlap() -> None:
    (kernel,) = (one for one in facts_of(TILELANG, "tilelang_tiles") if one.name == "overlapping")
    assert {one.name: one.may_overlap for one in kernel.buffers} == {
        "A": True,
        "B": True,
        "C": False,
    }


def _entries(costs):
    for cost in costs:
        yield cost
        yield from _entries(cost.children)


def _line_of(words: str) -> int:
    lines = (KERNELS / "tilelang_macros.py").read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if words in line)
