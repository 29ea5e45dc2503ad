"""What is said of a kernel before and after a change, and which growth is let through."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tirlens.budget import Budget
from tirlens.gate import Limits, changes, limits_of, most_grown_line
from tirlens.model.report import BreakdownEntry, KernelReport, ReadWrite
from tirlens.pipeline import FileReport
from tirlens.source import read
from tirlens_worker.facts import Span
from tirlens_worker.protocol import NeedsArguments, Problem

HERE = Span(3, 0, 3, 5)
BASE = KernelReport(
    "k", "k", HERE, "tvm", "0.27", "k", "module-level", {}, "h100-sxm", "H100",
    time_s=100e-6, dram_bytes=ReadWrite(600, 400), compulsory_bytes=900,
    uncertainty={"rate": 0.08, "waits": 0.1},
)  # fmt: skip
SOURCE = read(
    "from tvm.script import tirx as T\n@T.prim_func\ndef k(a: T.handle):\n    pass\n"
)  # fmt: skip


def file(*kernels: KernelReport, **fields: Any) -> FileReport:
    return replace(FileReport(kernels=kernels, path="k.py", source=SOURCE), **fields)


def verdicts(before: FileReport | None, now: FileReport, limits: Limits) -> list[tuple[str, ...]]:
    return [item.verdicts for item in changes(before, now, limits)]


@pytest.mark.parametrize(
    ("now", "limits", "wanted"),
    [
        ({}, ["5%"], ("same",)),
        ({"time_s": 104e-6}, ["5%"], ("changed",)),
        ({"time_s": 106e-6}, ["5%"], ("slower",)),
        ({"time_s": 106e-6}, ["5%", "time=10%"], ("changed",)),
        ({"time_s": 106e-6}, ["dram=0%"], ("changed",)),
        ({"time_s": 106e-6}, [], ("changed",)),
        ({"time_s": 90e-6}, ["5%"], ("faster",)),
        # Its bands overlap with those of before, and the errors are the same: it counts.
        ({"time_s": 106e-6, "uncertainty": {"rate": 0.08, "waits": 0.1}}, ["5%"], ("slower",)),
        # What it waits for is known by half as well as before: that alone may make the difference.
        ({"time_s": 106e-6, "uncertainty": {"rate": 0.08, "waits": 0.5}}, ["5%"], ("unsure",)),
        ({"time_s": 250e-6, "uncertainty": {"rate": 0.08, "waits": 0.5}}, ["5%"], ("slower",)),
        # Another unit is the busiest, of whose rate as little is known.
        ({"time_s": 106e-6, "utilisation": {"l2": 0.9}}, ["5%"], ("unsure",)),
        ({"time_s": 120e-6, "utilisation": {"l2": 0.9}}, ["5%"], ("slower",)),
        ({"dram_bytes": ReadWrite(700, 400)}, ["5%"], ("more-dram",)),
        ({"dram_bytes": ReadWrite(700, 400), "time_s": 90e-6}, ["5%"], ("more-dram", "faster")),
        ({"dram_bytes": ReadWrite(700, 400)}, ["time=5%"], ("changed",)),
        ({"dram_bytes": ReadWrite(None, None)}, ["5%"], ("lost",)),
        ({"time_s": None, "status": "error"}, ["5%"], ("lost",)),
        # The call has other sizes and touches other bytes: the two times say nothing.
        ({"call": "k(8)", "compulsory_bytes": 1800, "time_s": 2e-4}, ["5%"], ("other-work",)),
        # The call has another tile and touches the same bytes.
        ({"call": "k(8)", "time_s": 2e-4}, ["5%"], ("slower",)),
        ({"budget": Budget(time_s=99e-6)}, ["5%"], ("over-budget",)),
        ({"budget": Budget(time_s=100e-6, dram_bytes=1000)}, ["5%"], ("same",)),
        ({"budget": Budget(dram_bytes=999), "time_s": 2e-4}, ["5%"], ("slower", "over-budget")),
    ],
)
def test_verdicts(now: dict[str, Any], limits: list[str], wanted: tuple[str, ...]) -> None:
    found = verdicts(file(BASE), file(replace(BASE, **now)), limits_of(limits))
    assert found == [wanted]


UNREAD = replace(BASE, status="error", time_s=None)
NEEDS = NeedsArguments("k", ("M",), HERE)
OFF = read("from tvm.script import tirx as T\n# tirlens: off\n@T.prim_func\ndef k(a):\n    pass\n")
BROKEN = Problem("import", "No module named 'helper'", HERE)


@pytest.mark.parametrize(
    ("before", "now", "wanted"),
    [
        (None, file(BASE), ("new",)),
        (None, file(UNREAD), ("failed",)),
        (None, file(needs=(NEEDS,)), ("failed",)),
        (file(UNREAD), file(UNREAD), ("unknown",)),
        (file(needs=(NEEDS,)), file(needs=(NEEDS,)), ("unknown",)),
        (file(UNREAD), file(BASE), ("new",)),
        (file(BASE), file(needs=(NEEDS,)), ("lost",)),
        (file(BASE), file(problems=(BROKEN,)), ("lost",)),
        (file(BASE), file(source=read("x = (\n"), problems=(replace(BROKEN, kind="syntax"),)),
         ("lost",)),
        (file(BASE), file(source=read("x = 1\n")), ("removed",)),
        (file(BASE), file(source=OFF), ("removed",)),
    ],
)  # fmt: skip
def test_kernels_come_and_go(
    before: FileReport | None, now: FileReport, wanted: tuple[str, ...]
) -> None:
    assert verdicts(before, now, limits_of(["5%"])) == [wanted]


def test_calls_of_one_kernel_are_compared_each_with_its_own() -> None:
    small, large = replace(BASE, call="k(1)"), replace(BASE, call="k(2)", time_s=1e-3)
    found = changes(file(small, large), file(large, small), Limits(0.0, 0.0))
    assert [item.verdicts for item in found] == [("same",), ("same",)]
    found = changes(file(small, large), file(large), Limits(0.0, 0.0))
    assert [item.verdicts for item in found] == [("same",), ("lost",)]


@pytest.mark.parametrize("text", ["5", "5 percent", "speed=5%", "-5%", "time=", ""])
def test_what_is_no_limit(text: str) -> None:
    with pytest.raises(ValueError, match="no limit"):
        limits_of([text])


def leaf(label: str, line: int, time_s: float) -> BreakdownEntry:
    return BreakdownEntry("op", label, Span(line, 0, line, 9), 1, 1, 0, 0, 0, time_s, None, None)


def test_the_line_that_has_grown_most() -> None:
    before = replace(BASE, loops=(leaf("copy", 5, 3e-5), leaf("a = b", 6, 1e-5)))
    now = replace(BASE, loops=(leaf("copy", 7, 4e-5), leaf("a = c", 8, 6e-5)))
    line = most_grown_line(before, now)
    assert line is not None
    assert (line[0].span.line, line[1]) == (8, "a = c: 10 us -> 60 us")
    assert most_grown_line(now, now) is None
