"""DRAM gives tiles of half lines more slowly, where later turns ask for the other halves."""

from __future__ import annotations

import pytest

from support.kernels import gemm, launched, leaves
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.memory.row_efficiency import (
    HALF_LINE_DRAM_FRACTION,
    row_efficiency,
)
from tirlens_worker.facts import Access, Buffer, Copy, Expr, Loop


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


@pytest.mark.parametrize(
    ("source", "target", "extents", "column", "fraction"),
    [
        # Rows of 64 bytes of 128, and a loop that comes back for the others.
        ("A", "s", (64, 32), ("*", "k", 32), HALF_LINE_DRAM_FRACTION),
        ("A", "s", (64, 64), ("*", "k", 64), 1.0),
        # Another block loads the others at the same time; or nothing does.
        ("A", "s", (64, 32), ("*", "bx", 32), 1.0),
        ("A", "s", (64, 32), 0, 1.0),
        # L2 collects the parts of lines that are written, and shared memory has no lines.
        ("s", "A", (64, 32), ("*", "k", 32), 1.0),
        ("s", "r", (64, 32), ("*", "k", 32), 1.0),
        ("A", "s", (), ("*", "k", 32), 1.0),
        ("A", "s", ("n", "n"), ("*", "k", 32), 1.0),
    ],
)
def test_copies_of_parts_of_lines(
    source: str, target: str, extents: tuple[Expr, ...], column: Expr, fraction: float
) -> None:
    accesses = (
        Access(source, "read", (0, column), extents),
        Access(target, "write", (0, column if target == "A" else 0), extents),
    )
    arrays = {"A": "global", "s": "shared.dyn", "r": "local.fragment"}
    buffers = (Buffer(name, name, "float16", (64, 4096), scope) for name, scope in arrays.items())
    body = Loop("serial", "k", 0, 9, (Copy("", (), accesses, "block"),))
    (leaf,) = leaves(launched((body,), tuple(buffers)), {"n": 32})
    assert row_efficiency(leaf) == fraction
