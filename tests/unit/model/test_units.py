"""Busy time of the units, and the traffic that it follows from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from support.kernels import busy_times, gemm, launched, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Access,
    Arith,
    Buffer,
    Launch,
    Loop,
    Mma,
    Statement,
    Store,
)

H200 = load("h200")


def test_traffic_of_a_strided_read_is_whole_sectors() -> None:
    facts = gemm()
    strided = replace(
        facts,
        body=(Loop("block", "tx", 0, 32, (strided_load(),), tag="threadIdx.x", sites=site(2)),),
        buffers=(Buffer("A", "A", "float32", (32, 64)), Buffer("r", "r", "float32", (1,), "local")),
        launch=Launch((1,), (32,)),
    )
    report = analyze(strided, H200)
    assert report.global_bytes.read == 32 * 4 and report.l2_bytes == 32 * 32


def strided_load() -> Statement:
    accesses = (Access("A", "read", ("tx", 0)), Access("r", "write", (0,)))
    return Store("r", (), accesses, sites=site(3))


def test_a_product_of_half_the_rows_leaves_half_of_the_tensor_cores_idle() -> None:
    """It takes as long as one of all rows, and reads only its own operands."""
    b200 = load("b200")
    trip_count, columns = 4096, 64

    def busy(rows: int, filled: float) -> Mapping[str, float]:
        size = Arith("mma", "float16", rows * columns * 16, shape=(rows, columns, 16))
        product = Mma("mma", (size,), operand_bytes=(rows + columns) * 32, filled=filled)
        loop = Loop("serial", "k", 0, trip_count, (product,))
        (busy_s,) = busy_times(launched((loop,), (), 148, 1), b200)
        return busy_s

    whole, half = busy(128, 1.0), busy(64, 0.5)
    assert half["tensor"] == pytest.approx(whole["tensor"])
    clocks = trip_count * (128 + columns) * 32 / b200.shared_bytes_per_clk_per_sm
    assert whole["shared"] == pytest.approx(clocks / b200.clock_hz)
    assert half["shared"] == pytest.approx(whole["shared"] * (64 + columns) / (128 + columns))
