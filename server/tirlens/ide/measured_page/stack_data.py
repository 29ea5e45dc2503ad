"""Stacked bars: what a whole consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.ide import labels
from tirlens.ide.measured_page.schema import Part
from tirlens.ide.measured_page.schema import Stack as StackData
from tirlens.ide.measured_page.table_data import displayed_name, short_name
from tirlens.ide.report_page.axes import fraction

# Parts of a bar that have a place of their own.
_MOST_PARTS = 12


@dataclass(frozen=True)
class StackPart:
    """A part of a bar; its `category` has the colour, ``idle`` that of nothing."""

    name: str
    time_s: float
    category: str
    note: str = ""


@dataclass(frozen=True)
class Stack:
    """A bar of parts, which the page draws with the largest first."""

    name: str
    parts: Sequence[StackPart]


def stack_data(stack: Stack, width: float = 1.0) -> StackData | None:
    """The JSON of a bar; None where nothing takes time.  Small parts are one together."""
    total_s = sum(part.time_s for part in stack.parts)
    if not total_s:
        return None
    parts = sorted(stack.parts, key=lambda part: (part.category == "idle", -part.time_s))
    work = [part for part in parts if part.category != "idle"]
    kept, rest = work[:_MOST_PARTS], work[_MOST_PARTS:]
    if rest:
        name = f"{len(rest):,} others"
        kept = [*kept, StackPart(name, sum(part.time_s for part in rest), "rest")]
    idle = [part for part in parts if part.category == "idle"]
    return {
        "name": stack.name,
        "total": labels.seconds(total_s),
        "width": width,
        "parts": [_part(part, total_s) for part in [*kept, *idle] if part.time_s > 0],
    }


def _part(part: StackPart, total_s: float) -> Part:
    return {
        "name": displayed_name(part.name),
        "short": short_name(part.name),
        "category": part.category,
        "length": fraction(part.time_s / total_s),
        "time": labels.seconds(part.time_s),
        "share": labels.percent(part.time_s / total_s),
        "note": part.note,
    }
