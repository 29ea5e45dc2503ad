"""The times that a kernel's time is compared with, and the lines that a difference is from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.ide import hovers, lenses
from tirlens.ide.history import (
    NO_HISTORY,
    Comparison,
    History,
    SavedTime,
    Version,
    change,
    sparkline,
)
from tirlens.ide.line_changes import line_changes, line_times, own_shares
from tirlens.ide.line_map import LineMap
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens_worker.facts import Span


def cost(
    line: int, time_s: float, *children: BreakdownEntry, kind: str = "serial"
) -> BreakdownEntry:
    span = Span(line, 0, line, 9)
    return BreakdownEntry(
        kind=kind, label=f"L{line}", span=span, trips=1, executions=1, flop=0, global_bytes=0,
        dram_bytes=0.0, time_s=time_s, share=0.5, children=children,
    )  # fmt: skip


def kernel(time_s: float, *loops: BreakdownEntry, call: str = "f(64)") -> KernelReport:
    return KernelReport(
        name="main",
        definition="f",
        span=Span(1, 0, 1, 9),
        framework="tvm",
        framework_version="0",
        call=call,
        call_source="call-site",
        bindings={},
        device_id="h100-sxm",
        device_name="H100",
        compulsory_bytes=4096,
        time_s=time_s,
        bound="dram",
        loops=loops,
    )


BEFORE = kernel(10e-6, cost(2, 9e-6, cost(3, 4e-6), cost(4, 5e-6)), cost(1, 1e-6, kind="launch"))
NOW = kernel(7e-6, cost(2, 6e-6, cost(3, 1e-6), cost(4, 5e-6)), cost(1, 1e-6, kind="launch"))
LINES = ["def f", "for", "copy a", "gemm"]


@pytest.mark.parametrize(
    ("before_s", "text"),
    [(None, ""), (0.0, ""), (1.005e-4, ""), (2e-4, "-50%"), (0.8e-4, "+25%")],
)
def test_the_change_of_a_time(before_s: float | None, text: str) -> None:
    assert change(1e-4, before_s) == text
    assert change(None, before_s) == ""


@pytest.mark.parametrize(
    ("history", "text"),
    [
        (NO_HISTORY, "7 us |"),
        (History(Comparison("last save", BEFORE, LINES)), "7 us (-30%) |"),
        (
            History(
                Comparison("last save", NOW, LINES), Comparison("HEAD~1", kernel(14e-6), LINES)
            ),
            "7 us (baseline -50%) |",
        ),
        (
            History(
                Comparison("last save", BEFORE, LINES), Comparison("HEAD~1", kernel(5e-6), LINES)
            ),
            "7 us (-30%, baseline +40%) |",
        ),
    ],
)
def test_the_lens_has_the_changes(history: History, text: str) -> None:
    assert " | ".join(part.title for part in lenses.parts(NOW, history)).startswith(text)


def test_the_hover_has_the_baseline_and_the_saves() -> None:
    saves = tuple(SavedTime(time_s, 0.0, at) for at, time_s in enumerate((9e-6, 10e-6, 7e-6)))
    history = History(None, Comparison("HEAD~1", kernel(14e-6), LINES), saves)
    found = hovers.hover([NOW], 1, 0, lambda _: history)
    assert found is not None
    assert r"Baseline HEAD\~1: 14 us, now -50%." in found.markdown
    assert "Last saves: 9 us, 10 us, 7 us: `=#_`." in found.markdown
    assert "Last saves" not in hovers.kernel(NOW)


@pytest.mark.parametrize(
    ("times", "line"),
    [([], ""), ([1.0], "_"), ([1.0, 1.001], "__"), ([1.0, 2.0, 3.0], "_-#"), ([3, 1], "#_")],
)
def test_sparkline(times: list[float], line: str) -> None:
    found = sparkline(times)
    assert (found[:1], found[-1:], len(found)) == (line[:1], line[-1:], len(line))


@pytest.mark.parametrize(
    ("before", "now", "is_found"),
    [
        ([kernel(1.0)], [kernel(2.0)], True),
        # The same problem in another configuration.
        ([kernel(1.0, call="f(64, 8)")], [kernel(2.0, call="f(64, 16)")], True),
        # Another problem.
        ([replace(kernel(1.0, call="f(32)"), compulsory_bytes=64)], [kernel(2.0)], False),
        # Which of both it was is not known.
        ([kernel(1.0, call="f(1)"), kernel(1.0, call="f(2)")], [kernel(2.0)], False),
        # The other call is still there.
        ([kernel(1.0, call="f(1)")], [kernel(2.0), kernel(1.0, call="f(1)")], False),
        ([replace(kernel(1.0), device_id="a100-80-sxm")], [kernel(2.0)], False),
    ],
)
def test_counterparts(before: list[KernelReport], now: list[KernelReport], is_found: bool) -> None:
    version = Version("last save", LINES, tuple(before))
    assert version.counterpart(now[0], now) == (before[0] if is_found else None)


def test_a_difference_is_from_the_lines_that_changed() -> None:
    lines = LineMap.between(LINES, [LINES[0], "# new", *LINES[1:2], "copy b", LINES[3]])
    now = kernel(7e-6, cost(3, 6e-6, cost(4, 1e-6), cost(5, 5e-6)), cost(1, 1e-6, kind="launch"))
    (only,) = line_changes(BEFORE, now, lines)
    assert (only.line, only.line_before) == (4, 3)
    assert only.change_s == pytest.approx(-3e-6)


def test_lines_that_are_gone_or_new_are_named_and_all_add_up() -> None:
    now = kernel(15e-6, cost(2, 15e-6, cost(3, 5e-6), cost(4, 10e-6)))
    lines = LineMap.between(LINES, [LINES[0], LINES[1], LINES[3], "store"])
    found = line_changes(BEFORE, now, lines)
    assert [(item.line, item.line_before) for item in found] == [(4, None), (None, 3), (1, 1)]
    assert sum(item.change_s for item in found) == pytest.approx(5e-6)


def test_times_before_are_at_the_present_lines() -> None:
    lines = LineMap.between(LINES, ["# top", *LINES])
    assert line_times(BEFORE, lines) == {2: 1e-6, 3: 9e-6, 4: 4e-6, 5: 5e-6}


def test_own_shares_add_up() -> None:
    assert own_shares(BEFORE) == pytest.approx({1: 0.1, 3: 0.4, 4: 0.5})
