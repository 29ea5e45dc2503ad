"""Where the time of a kernel goes, as data: the tree of its lines, and a waterfall of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import labels, tables, verdicts
from tirlens.ide.report_page.axes import fraction, linear_ticks
from tirlens.ide.report_page.chart_schema import Bar, BarKind, Tick, Waterfall
from tirlens.ide.report_page.schema import Row

if TYPE_CHECKING:
    from tirlens.ide.notebook_file import CellPlaces
    from tirlens.model.report import BreakdownEntry, KernelReport

# The columns that a row has in places of their own.
_APART = ("time", "share")
# Parts of a waterfall that take less of the kernel's time are one bar together.
_LEAST_SHARE = 0.01
_MAX_BARS = 14
_UNSEEN_SHARE = 1e-4


def line_columns() -> list[str]:
    """The other columns of the tree, for the `cells` of its rows."""
    return [name for name in tables.line_columns() if name not in _APART]


def line_rows(
    report: KernelReport, before_s: Mapping[int, float] | None, cells: CellPlaces
) -> list[Row]:
    """The rows of the tree, parents before their children, with the times of an earlier version.

    `before_s` are the times of that version at the present lines, `cells` those of a notebook.
    """
    rows: list[Row] = []
    columns = line_columns()
    compared: set[int] = set()
    for depth, cost in report.walk():
        line = None if cost.span.file else cost.span.line
        texts = tables.line_cells(cost)
        row: Row = {
            "depth": depth,
            "line": line,
            "place": tables.place(cells.in_cell(cost.span)),
            "what": " ".join(cost.label.split()),
            "time": texts["time"],
            "share": texts["share"],
            "bar": fraction(min(cost.share or 0.0, 1.0)),
            "cells": ["" if texts[name].startswith("0 ") else texts[name] for name in columns],
        }
        is_own_line = line is not None and cost.kind not in ("launch", "tail")
        if before_s is not None and is_own_line and line not in compared:
            assert line is not None
            compared.add(line)
            row["change"] = _change(cost.time_s, before_s.get(line))
        rows.append(row)
    return rows


def _change(time_s: float | None, before_s: float | None) -> str:
    if time_s is None:
        return ""
    if before_s is None:
        return "new"
    return time_change(time_s, before_s)


def time_change(time_s: float, before_s: float) -> str:
    """``-28%``, ``+3%``; ``=`` for less than half a percent."""
    if not before_s:
        return "=" if not time_s else "new"
    percent = 100 * (time_s / before_s - 1)
    return f"{percent:+.0f}%" if abs(percent) >= 0.5 else "="


@dataclass(frozen=True)
class _Part:
    label: str
    line: int | None
    kind: BarKind
    time_s: float
    bound: str


def waterfall(report: KernelReport) -> Waterfall | None:
    """The parts of the kernel's time one after the other; None where it has no time."""
    total_s = report.time_s
    if not total_s:
        return None
    bars: list[Bar] = []
    start_s = 0.0
    for part in _merge_small(list(_own_times(report.loops)), total_s):
        bars.append(
            {
                "label": part.label,
                "line": part.line,
                "kind": part.kind,
                "start": fraction(start_s / total_s),
                "length": fraction(part.time_s / total_s),
                "time": labels.seconds(part.time_s),
                "share": labels.percent(part.time_s / total_s),
                "bound": part.bound,
            }
        )
        start_s += part.time_s
    return {
        "bars": bars,
        "total": labels.seconds(total_s),
        "ticks": [Tick(fraction(at / total_s), labels.seconds(at)) for at in linear_ticks(total_s)],
        "limits": [
            Tick(fraction(min(limit_s / total_s, 1.0)), f"{name} {labels.seconds(limit_s)}")
            for name, limit_s in (
                ("roofline", report.roofline_time_s),
                ("reachable", report.reachable_time_s),
            )
            if limit_s is not None
        ],
    }


def _own_times(costs: tuple[BreakdownEntry, ...]) -> Iterator[_Part]:
    for cost in costs:
        inner_s = sum(child.time_s or 0.0 for child in cost.children)
        own_s = max((cost.time_s or 0.0) - inner_s, 0.0)
        label = " ".join(cost.label.split())
        line = None if cost.span.file else cost.span.line
        kind = cost.kind if cost.kind in ("launch", "tail") else "work"
        if own_s:
            yield _Part(label, line, kind, own_s, verdicts.unit(cost))
        yield from _own_times(cost.children)


def _merge_small(parts: list[_Part], total_s: float) -> list[_Part]:
    """The largest parts in their order, and the others as one before launch and tail."""
    large = sorted(parts, key=lambda part: -part.time_s)[:_MAX_BARS]
    kept = [
        part
        for part in parts
        if part.kind != "work" or (part in large and part.time_s >= _LEAST_SHARE * total_s)
    ]
    rest_s = sum(part.time_s for part in parts) - sum(part.time_s for part in kept)
    work = [part for part in kept if part.kind == "work"]
    overhead = [
        part for part in kept if part.kind != "work" and part.time_s > _UNSEEN_SHARE * total_s
    ]
    if rest_s > _UNSEEN_SHARE * total_s:
        work.append(_Part("all other lines", None, "rest", rest_s, ""))
    return work + overhead
