"""The breakdown entry at a position of the document: a loop, an operation, or a macro call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirlens.model.report import BreakdownEntry
    from tirlens_worker.facts import Span

MACRO = "macro call"


def entry_at(loops: Sequence[BreakdownEntry], line: int, column: int) -> BreakdownEntry | None:
    """The entry at a position of the analysed text (1-based line, 0-based column).

    It is the innermost one that starts on the line and includes the column, else the outermost one
    of the line.  At a macro call, it is the sum of the macro's entries.
    """
    found = [
        (depth, cost)
        for loop in loops
        for depth, cost in loop.walk()
        if cost.kind not in ("launch", "tail") and _starts(cost, line)
    ]
    if not found:
        return None
    covering = [pair for pair in found if _covers(pair[1].span, line, column)]
    chosen = max(covering, key=lambda pair: pair[0])[1] if covering else found[0][1]
    if not _is_called(chosen, line):
        return chosen
    called = [pair for pair in found if pair[1].span == chosen.span and _is_called(pair[1], line)]
    least = min(depth for depth, _ in called)
    outermost = [cost for depth, cost in called if depth == least]
    return outermost[0] if len(outermost) == 1 else _combine(outermost)


def total(values: Iterable[float | None]) -> float | None:
    """The sum of `values`, or None if any of them is unknown."""
    found: float = 0
    for value in values:
        if value is None:
            return None
        found += value
    return found


def _combine(costs: Sequence[BreakdownEntry]) -> BreakdownEntry:
    """The sum of the statements of a macro, at the call of the macro."""
    return replace(
        costs[0],
        kind="op",
        label=MACRO,
        span=costs[0].span,
        trips=None,
        executions=None,
        flop=_integer_total(cost.flop for cost in costs),
        global_bytes=_integer_total(cost.global_bytes for cost in costs),
        dram_bytes=total(cost.dram_bytes for cost in costs),
        time_s=total(cost.time_s for cost in costs),
        share=total(cost.share for cost in costs),
        bound=None,
        children=tuple(costs),
        sites=(costs[0].span,),
        l2_bytes=total(cost.l2_bytes for cost in costs),
        shared_bytes=_integer_total(cost.shared_bytes for cost in costs),
        overlapped_s=None,
        details=(),
    )


def _integer_total(values: Iterable[int | None]) -> int | None:
    found = total(values)
    return None if found is None else int(found)


def _is_called(cost: BreakdownEntry, line: int) -> bool:
    """Whether `cost` is of a macro that is called on `line`."""
    return len(cost.sites) > 1 and cost.span.file is None and cost.span.line == line


def _starts(cost: BreakdownEntry, line: int) -> bool:
    """Whether `line` belongs to `cost`: any line of an operation, the first line of a loop."""
    if cost.span.file is not None:
        return any(site.file is None and site.line == line for site in cost.sites)
    last = cost.span.end_line if cost.kind == "op" else cost.span.line
    at_last = cost.span.line <= line <= last
    return at_last or any(site.file is None and site.line == line for site in cost.sites)


def _covers(span: Span, line: int, column: int) -> bool:
    if not span.line <= line <= span.end_line:
        return False
    after_start = line > span.line or column >= span.column
    before_end = line < span.end_line or column < span.end_column
    return after_start and before_end
