"""The single operations as a table of the page, with the figures of the performance report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tirlens.ide import labels
from tirlens.ide.measured_page.table_data import MOST_ROWS, Cell, Column, TableView, share_cell
from tirlens.measured.performance.categories import category_of
from tirlens.measured.performance.rates import Performance

_Figure: TypeAlias = Callable[[Performance], tuple[float | None, str]]


def operation_table(rows: Sequence[Performance]) -> TableView:
    """The operations in their order; of more than a page has, those that take the most time."""
    kept, note = list(rows), ""
    if len(rows) > MOST_ROWS:
        longest = sorted(range(len(rows)), key=lambda at: -(rows[at].operation.time_s or 0.0))
        kept = [rows[at] for at in sorted(longest[:MOST_ROWS])]
        note = f"The {MOST_ROWS:,} of {len(rows):,} operations that take the most time."
    columns = [Column("operation", "text"), Column("ID")]
    used = [name for name, figure in _FIGURES.items() if any(figure(row)[1] for row in kept)]
    columns += [Column(name, "share" if name == "total" else "number") for name in used]
    words = [name for name, word in _WORDS.items() if any(word(row) for row in kept)]
    columns += [Column(name, "text") for name in words]
    cells = [
        [
            row.operation.name,
            (str(row.number), float(row.number)),
            *(_cell(name, row) for name in used),
            *(_WORDS[name](row) for name in words),
        ]
        for row in kept
    ]
    categories = [category_of(row.operation.name, row.operation.kind) for row in kept]
    return TableView("Operations", columns, cells, categories, note)


def _cell(name: str, row: Performance) -> Cell:
    value, text = _FIGURES[name](row)
    return share_cell(text, value) if name == "total" else (text, value)


def _seconds(value: float | None) -> tuple[float | None, str]:
    return value, "" if value is None else labels.seconds(value)


def _percent(value: float | None) -> tuple[float | None, str]:
    return value, "" if value is None else labels.percent(value)


def _rate(value: float | None, unit: str) -> tuple[float | None, str]:
    return value, "" if value is None else labels.rate(value, unit)


def _count(value: float | None) -> tuple[float | None, str]:
    return value, "" if value is None else f"{value:,}"


_FIGURES: dict[str, _Figure] = {
    "total": lambda row: _percent(row.share),
    "time": lambda row: _seconds(row.operation.time_s),
    "gap before": lambda row: _seconds(row.operation.gap_s),
    "executions": lambda row: _count(
        row.operation.executions if row.operation.executions > 1 else None
    ),
    "cores": lambda row: _count(row.operation.cores),
    "DRAM": lambda row: _rate(row.dram_bytes_per_s, "B"),
    "DRAM %": lambda row: _percent(row.dram_fraction),
    "FLOPs": lambda row: _rate(row.flop_per_s, "FLOP"),
    "FLOPs %": lambda row: _percent(row.flop_fraction),
}
_WORDS: dict[str, Callable[[Performance], str]] = {
    "bound": lambda row: row.bound or "",
    "math fidelity": lambda row: row.operation.attributes.get("math fidelity", ""),
    "device": lambda row: row.operation.device or "",
    "stream": lambda row: row.operation.stream or "",
}
