"""DRAM gives tiles of half lines more slowly, where later turns ask for the other halves."""

from __future__ import annotations

import pytest

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.memory.row_efficiency import HALF_LINE_DRAM_FRACTION


def dram_busy_s(m: int, n: int, tile_k: int) -> float:
    report = analyze(gemm(m=m, n=n, k=4096, tile_k=tile_k), load("h100-sxm"))
    assert report.time_s is not None
    return report.utilisation["dram"] * report.time_s


@pytest.mark.parametrize(
    ("m", "n", "tile_k", "share"),
    [
        pytest.param(32768, 128, 16, HALF_LINE_DRAM_FRACTION, id="rows of 32 bytes"),
        pytest.param(32768, 128, 32, HALF_LINE_DRAM_FRACTION, id="rows of 64 bytes"),
        pytest.param(32768, 128, 64, 1.0, id="rows of 128 bytes"),
        pytest.param(128, 32768, 32, 1.0, id="few such rows beside long ones"),
    ],
)
def test_half_lines_take_longer(m: int, n: int, tile_k: int, share: float) -> None:
    whole = dram_busy_s(m, n, 128)
    assert dram_busy_s(m, n, tile_k) == pytest.approx(whole / share, rel=0.02)
