"""Overlap of matrix products and of warpgroups with other code."""

from __future__ import annotations

import pytest

from support.kernels import gemm, launched, leaves, modelled
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.block.overlap import overlap_asynchronous
from tirlens.model.tree.timed_node import TimedNode
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Branch,
    Buffer,
    Copy,
    Loop,
    Mma,
    Store,
)

H200 = load("h200")


def test_products_that_signal_a_barrier_overlap_the_rest_of_their_loop() -> None:
    """Waits shorter than the products are overlapped by them; longer ones overlap the products."""
    work = Arith("mma", "float16", 256 * 256 * 64, accumulator="float32", shape=(256, 256, 64))

    def time_s(waits: int, asynchronous: bool) -> float:
        product = Mma("m", (work,), instruction="tcgen05", is_asynchronous=asynchronous)
        wait = Loop("serial", "u", 0, waits, (Barrier("wait"),))
        first = Branch(("==", "tx", 0), (Loop("serial", "k", 0, 4096, (product, wait)),))
        found = analyze(launched((first,), ()), load("b200")).time_s
        assert found is not None
        return found

    alone = time_s(0, True)
    assert time_s(2, True) == pytest.approx(alone, rel=0.05)
    assert time_s(64, False) > 1.1 * time_s(64, True) > 1.5 * alone


def test_two_warpgroups_overlap_each_others_waits() -> None:
    """The same tiles with twice the threads: the waits for the tensor cores overlap."""
    one = analyze(gemm(8192, 8192, 8192, tile_n=256, threads=128), H200)
    two = analyze(gemm(8192, 8192, 8192, tile_n=256, threads=256), H200)
    assert one.time_s is not None and two.time_s is not None and two.time_s < 0.95 * one.time_s


LATENCY_S = modelled(gemm(), H200).context.memory.dram_latency_s


@pytest.mark.parametrize("executions", [1.0, 16.0])
@pytest.mark.parametrize("between", [0.0, 0.25, 1.0, 3.0])
@pytest.mark.parametrize(
    ("route", "array", "is_waited_for"),
    [
        ("async", "s", True),
        ("tma", "s", True),
        # A thread waits for its own load where it is, and nobody for what nobody reads.
        ("thread", "s", False),
        ("async", "other", False),
    ],
)
def test_the_reader_of_a_copy_waits_for_what_the_code_between_leaves(
    route: str, array: str, is_waited_for: bool, between: float, executions: float
) -> None:
    """The latency of DRAM, once an execution, less the time of the statements between."""
    buffers = (
        Buffer("x", "x", "float32", (1024,), "global"),
        Buffer("s", "s", "float32", (128,), "shared.dyn"),
        Buffer("other", "other", "float32", (128,), "shared.dyn"),
        Buffer("y", "y", "float32", (1024,), "global"),
    )
    copied = (Access("x", "read", (0,), (128,), route=route), Access("s", "write", (0,), (128,)))
    read = (Access(array, "read", (0,), (128,)), Access("y", "write", (0,), (128,)))
    body = (
        Copy("copy", (), copied, "block"),
        Barrier("other work"),
        Store("y = s", (), read, "block"),
    )
    nodes = leaves(launched(body, buffers))
    whole_s = LATENCY_S * executions
    times_s = (1e-8, between * whole_s, 2e-8)
    timed = [TimedNode(node, own_s) for node, own_s in zip(nodes, times_s, strict=True)]
    memory = modelled(gemm(), H200).context.memory
    found = [part.total_s for part in overlap_asynchronous(nodes, timed, memory, executions)]
    wait_s = max(1 - between, 0.0) * whole_s if is_waited_for else 0.0
    assert found == pytest.approx([1e-8 + wait_s, between * whole_s, 2e-8])
