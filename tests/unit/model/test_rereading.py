"""Rows that a block reads twice come from DRAM once while the caches hold them, else twice."""

from __future__ import annotations

import pytest

from support.kernels import launched, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import Access, Barrier, Buffer, Expr, KernelFacts, Loop, Node, Store

THREADS, ROWS = 256, 16384


def one_pass(number: int, columns: int, result: bool) -> Node:
    """Every thread reads its elements of the block's row, and writes as many or keeps a sum."""
    column: Expr = ("+", ("*", f"i{number}", THREADS), "tx")
    written = Access("Y", "write", ("bx", column)) if result else Access("s", "write", (0,))
    accesses = (Access("X", "read", ("bx", column)), written)
    statement = Store(f"pass {number}", (), accesses, sites=site(3))
    return Loop("serial", f"i{number}", 0, columns // THREADS, (statement,), sites=site(2))


def two_passes(columns: int, writes: bool = True) -> KernelFacts:
    barrier = Barrier("storage_sync", (), (), "block", sites=site(4))
    body = (one_pass(0, columns, False), barrier, one_pass(1, columns, writes))
    arrays = (Buffer(name, name, "float32", (ROWS, columns)) for name in "XY")
    return launched(body, (*arrays, Buffer("s", "s", "float32", (1,), "local")), ROWS, THREADS)


def passes(facts: KernelFacts, device: str, columns: int) -> float:
    read = analyze(facts, load(device)).dram_bytes.read
    assert read is not None
    return read / (4 * ROWS * columns)


@pytest.mark.parametrize("device", ["v100-sxm2", "t4", "p100-pcie", "a100-40-pcie", "l4"])
def test_long_rows_come_again_and_short_ones_do_not(device: str) -> None:
    counts = [passes(two_passes(n), device, n) for n in (512, 2048, 8192, 65536)]
    assert counts == sorted(counts)
    assert counts[0] == pytest.approx(1.0, abs=0.05)
    # Eight rows of 256 KiB on an SM: more than any of these L2 caches holds.
    assert counts[-1] == pytest.approx(2.0, abs=0.05)


def test_what_is_written_takes_the_place_of_what_is_read_again() -> None:
    """Rows that just fit do not with as much written beside them."""
    columns = 4096
    assert passes(two_passes(columns, writes=False), "t4", columns) < passes(
        two_passes(columns), "t4", columns
    )
