"""Two measured runs as data: what became faster or slower, and how much of the run that is."""

from __future__ import annotations

from collections.abc import Sequence

from tirlens.ide import labels
from tirlens.ide.measured_page.page_data import page_document
from tirlens.ide.measured_page.schema import SCHEMA_VERSION, Changes, MeasuredPage
from tirlens.ide.measured_page.schema import Stack as StackData
from tirlens.ide.measured_page.stack_data import Stack, StackPart, stack_data
from tirlens.ide.measured_page.table_data import (
    Cell,
    Column,
    TableView,
    displayed_name,
    short_name,
    table_data,
)
from tirlens.ide.report_page.axes import fraction
from tirlens.ide.report_page.breakdown_data import time_change
from tirlens.ide.report_page.schema import Tile
from tirlens.measured.performance.categories import CATEGORIES, Category, category_of
from tirlens.measured.runs.comparison import Comparison, OperationChange, Side
from tirlens.version import __version__

_MOST_BARS = 24


def comparison_document(comparison: Comparison, notes: Sequence[str] = ()) -> str:
    """The page of two runs as one document that loads nothing."""
    return page_document(comparison_data(comparison, notes))


def comparison_data(comparison: Comparison, notes: Sequence[str] = ()) -> MeasuredPage:
    """The JSON of the page."""
    before, now = comparison.before, comparison.now
    title = f"{_names(before.paths)} and {_names(now.paths)}"
    changes = sorted(comparison.changes, key=lambda change: -abs(change.total_change_s))
    stacks = [_stack("before", comparison, False), _stack("now", comparison, True)]
    return {
        "schema_version": SCHEMA_VERSION,
        "title": displayed_name(title),
        "origin": displayed_name(f"before: {', '.join(before.paths)}; now: {', '.join(now.paths)}"),
        "generator": f"tirlens {__version__} from two measured runs",
        "tiles": _tiles(comparison),
        "categories": [],
        "stacks": _to_scale(stacks),
        "changes": _bars(changes),
        "timeline": None,
        "roofline": None,
        "tables": [table_data(_table(changes))],
        "notes": [displayed_name(note) for note in notes],
    }


def _names(paths: Sequence[str]) -> str:
    name = paths[0].rpartition("/")[2] if paths else "?"
    return name if len(paths) < 2 else f"{name} and {len(paths) - 1} more"


def _tiles(comparison: Comparison) -> list[Tile]:
    before, now = comparison.before.time, comparison.now.time
    found: list[Tile] = []
    if before and now:
        found.append(
            Tile(
                "time of all operations",
                labels.seconds(now.mean_s),
                time_change(now.mean_s, before.mean_s),
            )
        )
        found.append(Tile("before", labels.seconds(before.mean_s), ""))
    gaps = comparison.before.gap_s, comparison.now.gap_s
    if gaps[0] is not None and gaps[1] is not None:
        found.append(Tile("gaps", labels.seconds(gaps[1]), f"before {labels.seconds(gaps[0])}"))
    verdicts = [change.verdict for change in comparison.changes]
    counts = [f"{verdicts.count(word):,}" for word in ("slower", "faster")]
    found.append(Tile("slower", counts[0], "by more than the spread"))
    found.append(Tile("faster", counts[1], "by more than the spread"))
    others = len(comparison.changes) - verdicts.count("slower") - verdicts.count("faster")
    found.append(Tile("others", f"{others:,}", "the same, or not known"))
    return found


def _stack(name: str, comparison: Comparison, is_now: bool) -> tuple[Stack, float]:
    """The time of a side by category, and its sum."""
    times: dict[Category, float] = dict.fromkeys(CATEGORIES, 0.0)
    for change in comparison.changes:
        side = change.now if is_now else change.before
        if side is not None and side.total_s:
            times[_category(change)] += side.total_s
    parts = [StackPart(category, time_s, category) for category, time_s in times.items()]
    gap_s = (comparison.now if is_now else comparison.before).gap_s
    if gap_s:
        parts.append(StackPart("idle", gap_s, "idle"))
    return Stack(name, parts), sum(part.time_s for part in parts)


def _to_scale(stacks: Sequence[tuple[Stack, float]]) -> list[StackData]:
    """Both bars on one scale: the longer one has the whole width."""
    longest_s = max(total_s for _, total_s in stacks)
    found = [
        stack_data(stack, width=fraction(total_s / longest_s) if longest_s else 0.0)
        for stack, total_s in stacks
    ]
    return [data for data in found if data is not None]


def _bars(changes: Sequence[OperationChange]) -> Changes | None:
    """What the operations add to the run, or save, the largest first."""
    kept = [change for change in changes if change.total_change_s][:_MOST_BARS]
    if not kept:
        return None
    longest_s = max(abs(change.total_change_s) for change in kept)
    total_s = sum(change.total_change_s for change in changes)
    left_out = sum(bool(change.total_change_s) for change in changes) - len(kept)
    return {
        "total": _with_sign(total_s),
        "left_out": left_out,
        "bars": [
            {
                "name": displayed_name(change.operation.name),
                "short": short_name(change.operation.name),
                "category": _category(change),
                "length": fraction(change.total_change_s / longest_s),
                "text": _with_sign(change.total_change_s),
                "note": _sentence(change),
            }
            for change in kept
        ],
    }


def _with_sign(value_s: float) -> str:
    sign = "+" if value_s > 0 else "-" if value_s < 0 else ""
    return f"{sign}{labels.seconds(abs(value_s))}"


def _sentence(change: OperationChange) -> str:
    """``12 us before, 10 us now, -17%: faster``."""
    before, now = _time(change.before), _time(change.now)
    growth = change.time_growth
    percent = "" if growth is None else f", {100 * growth:+.3g}%"
    return f"{before or 'not there'} before, {now or 'not there'} now{percent}: {change.verdict}"


def _time(side: Side | None) -> str:
    return "" if side is None or side.time_s is None else labels.seconds(side.time_s)


def _category(change: OperationChange) -> Category:
    return category_of(change.operation.name, change.operation.kind)


def _table(changes: Sequence[OperationChange]) -> TableView:
    columns = [
        Column("operation", "text"),
        Column("executions", about="of a run now"),
        Column("before", about="the mean of an execution"),
        Column("now", about="the mean of an execution"),
        Column("change", about="of an execution"),
        Column("of the run", about="what the change adds to the time of a run"),
        Column("verdict", "text"),
    ]
    rows = [_row(change) for change in changes]
    return TableView("Operations", columns, rows, [_category(change) for change in changes])


def _row(change: OperationChange) -> list[Cell]:
    side = change.now or change.before
    executions = side.executions if side else None
    growth = change.time_growth
    return [
        change.operation.name,
        (labels.number(executions), executions),
        (_time(change.before), change.before and change.before.time_s),
        (_time(change.now), change.now and change.now.time_s),
        ("" if growth is None else f"{100 * growth:+.3g}%", growth),
        (_with_sign(change.total_change_s), change.total_change_s),
        change.verdict.replace("-", " "),
    ]
