"""Statements of one line and one label are one entry of the breakdown, as of a loop of Python."""

from __future__ import annotations

import pytest

from support.kernels import launched, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import BreakdownEntry
from tirlens_worker.facts import Access, Arith, Buffer, Store

H100 = load("h100-sxm")
BLOCKS, THREADS = 64, 128


def entries(lines: tuple[int, ...]) -> list[BreakdownEntry]:
    """The statements of a kernel that has one at each of these lines, each with its own element."""
    body = tuple(
        Store(
            "y[...] = x + 1",
            (Arith("add", "float32", 1),),
            (Access("y", "write", (number, ("+", ("*", "bx", THREADS), "tx"))),),
            sites=site(line),
        )
        for number, line in enumerate(lines)
    )
    buffers = (Buffer("y", "y", "float32", (len(lines), BLOCKS * THREADS), "global"),)
    report = analyze(launched(body, buffers, BLOCKS, THREADS), H100)
    return [one for top in report.loops for _, one in top.walk() if one.kind == "op"]


@pytest.mark.parametrize(
    ("lines", "flop"),
    [((5,), [1]), ((5, 5), [2]), ((5, 5, 5), [3]), ((5, 6), [1, 1]), ((5, 6, 5), [2, 1])],
)
def test_they_are_summed(lines: tuple[int, ...], flop: list[int]) -> None:
    found = entries(lines)
    assert [one.flop for one in found] == [each * BLOCKS * THREADS for each in flop]
    assert sum(one.global_bytes or 0 for one in found) == 4 * len(lines) * BLOCKS * THREADS
