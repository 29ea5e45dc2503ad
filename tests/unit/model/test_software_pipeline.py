"""Software pipelines: stages, and the loads that run ahead.

What tilelang 0.1.15 lowers to cp.async with buffers: ``A_shared[i, j] = A[i, j]`` in a loop of
three stages has three buffers, under an ``if`` too.  ``T.if_then_else(guard, A[i, j], 0)`` has one,
and its threads wait for their loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.kernels import gemm, launched, site
from support.stored_facts import entries
from tirlens.hardware import Device, load
from tirlens.model import analyze
from tirlens.model.report import BreakdownEntry
from tirlens_worker.codec import from_json
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Copy,
    Expr,
    Gemm,
    KernelFacts,
    Loop,
    Node,
    Statement,
    Store,
)

TILE = 64


STAGES = 3


GUARD: Expr = ("<", "i", 60)


def facts(copy: Node) -> KernelFacts:
    rows = Loop("parallel", "i", 0, TILE, (Loop("parallel", "j", 0, TILE, (copy,)),))
    box = (TILE, TILE)
    product = Gemm(
        "T.gemm",
        (Arith("mma", "float16", TILE**3, accumulator="float32", shape=(TILE, TILE, TILE)),),
        (
            Access("s", "read", (0, 0), box, route="mma"),
            Access("c", "read", (0, 0), box, route="mma"),
            Access("c", "write", (0, 0), box, route="mma"),
        ),
        "block",
    )
    loop = Loop("pipelined", "k", 0, 32, (rows, product), annotations={"num_stages": STAGES})
    buffers = (
        Buffer("a", "a", "float16", (TILE, 32 * TILE)),
        Buffer("s", "s", "float16", box, "shared.dyn"),
        Buffer("c", "c", "float32", box, "local.fragment"),
    )
    return launched((loop,), buffers)


def element(guard: Expr | None) -> Statement:
    column = ("+", ("*", "k", TILE), "j")
    read = Access("a", "read", ("i", column), guard=guard)
    return Store("s[...]", (), (read, Access("s", "write", ("i", "j"))), "block")


@pytest.mark.parametrize(
    "copy, buffers",
    [(element(None), STAGES), (Branch(GUARD, (element(None),)), STAGES), (element(GUARD), 1)],
    ids=["plain", "if", "if_then_else"],
)
def test_buffers_of_an_element_copy(copy: Node, buffers: int) -> None:
    report = analyze(facts(copy), load("h200"))
    assert report.shared_bytes_per_block == buffers * TILE * TILE * 2


def test_a_guarded_element_copy_exposes_its_latency() -> None:
    plain, guarded = (analyze(facts(element(guard)), load("h200")) for guard in (None, GUARD))
    assert plain.time_s is not None and guarded.time_s is not None
    # Each of 32 iterations waits for memory.
    assert guarded.time_s - plain.time_s > 32 * 0.15e-6


H200 = load("h200")


def test_a_single_buffer_overlaps_nothing() -> None:
    deep, flat = (analyze(gemm(stages=stages), H200).time_s or 0.0 for stages in (3, 1))
    assert flat > 1.2 * deep


ARRAY = Buffer("X", "X", "float32", (1 << 26,), "global", is_parameter=True)


SHARED_TILE = Buffer("s", "s", "float32", (8192,), "shared.dyn")


FRAGMENT = Buffer("r", "r", "float32", (8192,), "local.fragment")


OTHER_FRAGMENT = Buffer("q", "q", "float32", (8192,), "local.fragment")


def launch(blocks: int, *body: Node) -> KernelFacts:
    return launched(body, (ARRAY, SHARED_TILE, FRAGMENT, OTHER_FRAGMENT), blocks)


def time_s(facts: KernelFacts) -> float:
    report = analyze(facts, H200)
    assert report.time_s is not None, report.message
    return report.time_s


def tile_copy(source: str, target: str, at: Expr = 0, length: int = 8192) -> Statement:
    accesses = (
        Access(source, "read", (at,), (length,), route="tile"),
        Access(target, "write", (0,), (length,), route="tile"),
    )
    return Copy(f"T.tile_copy({source}, {target})", (), accesses, "block", sites=site(3))


def test_a_pipeline_interleaves_the_code_of_an_iteration() -> None:
    """Special functions and additions of two tile loops take the time of the busier unit."""

    def tile(operation: str, target: str) -> Loop:
        arith = (Arith(operation, "float32", 1),)
        accesses = (Access(target, "read", ("i",)), Access(target, "write", ("i",)))
        statement = Store(target, arith, accesses, "block", sites=site(4))
        return Loop("parallel", "i", 0, 8192, (statement,), sites=site(4))

    def pipeline_s(*parts: Node) -> float:
        body = (tile_copy("X", "s", ("*", "k", 8192)), *parts)
        loop = Loop("pipelined", "k", 0, 1000, body, sites=site(3))
        return time_s(launch(1, replace(loop, annotations={"num_stages": 3})))

    # Few enough that the instructions around an exponent do not make the issue slots the busiest.
    exponent, sums = tile("exp2", "r"), [tile("add", "q")] * 2
    both = pipeline_s(exponent, *sums)
    assert both < 0.9 * (pipeline_s(exponent) + pipeline_s(*sums))
    assert both == pytest.approx(max(pipeline_s(exponent), pipeline_s(*sums)), rel=0.2)


def pipelined_entries(entries: tuple[BreakdownEntry, ...]) -> Iterator[BreakdownEntry]:
    for entry in entries:
        if entry.kind == "pipelined":
            yield entry
        yield from pipelined_entries(entry.children)


def assert_children_sum_to_loops(kernel: KernelFacts, device: Device) -> int:
    """The pipelined loops of a kernel, the times of whose children are compared with theirs."""
    loops = list(pipelined_entries(analyze(kernel, device).loops))
    for loop in loops:
        children_s = sum(child.time_s or 0.0 for child in loop.children)
        assert children_s == pytest.approx(loop.time_s, rel=0.01), kernel.name
    return len(loops)


@pytest.mark.parametrize(
    "name, step", [("tilelang_readmes", 9), ("tilelang_attention", 5), ("tutorials_tilelang", 3)]
)
@pytest.mark.parametrize("device", ["h800-sxm", "a100-80-sxm"])
def test_children_of_committed_pipelined_loops_sum_to_the_loop(
    name: str, step: int, device: str
) -> None:
    kernels = [from_json(KernelFacts, item) for item in entries(name)[::step]]
    assert sum(assert_children_sum_to_loops(kernel, load(device)) for kernel in kernels)


@pytest.mark.parametrize("stages", [0, 1, 2, 4])
@pytest.mark.parametrize("k", [64, 256, 8192])
def test_waits_of_a_pipelined_product_are_at_its_copies(stages: int, k: int) -> None:
    kernel = gemm(m=512, n=512, k=k, stages=stages)
    assert assert_children_sum_to_loops(kernel, H200) == 1
    (loop,) = pipelined_entries(analyze(kernel, H200).loops)
    copies_s = sum(child.time_s or 0.0 for child in loop.children if "copy" in child.label)
    assert copies_s > 0.0
