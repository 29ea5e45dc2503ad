"""Overlap of matrix products and of warpgroups with other code."""

from __future__ import annotations

import pytest

from support.kernels import gemm, launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Arith,
    Barrier,
    Branch,
    Loop,
    Mma,
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
