"""The breakdown entry at a position of the document: a loop, an operation, or a macro call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirlens.model.operations import Operations
    from tirlens.model.report import BreakdownEntry
    from tirlens_worker.facts import Span

MACRO = "macro call"
#: The kinds of entries that belong to no line.
WITHOUT_LINE = ("launch", "tail")


def entry_at(loops: Sequence[BreakdownEntry], line: int, column: int) -> BreakdownEntry | None:
    """The entry at a position of the analysed text (1-based line, 0-based column).

    The most specific text at the position decides, else the line. Several entries may have it: the
    loops and statements of a tensor expression, or of a macro at its call. The outermost of these
    includes the others, and siblings are summed.
    """
    found = [
        (depth, cost)
        for loop in loops
        for depth, cost in loop.walk()
        if cost.kind not in WITHOUT_LINE and line in lines_of(cost)
    ]
    if not found:
        return None
    covering = [pair for pair in found if _covers(pair[1].span, line, column)]
    chosen = max(covering, key=lambda pair: pair[0])[1] if covering else found[0][1]
    same = [pair for pair in found if pair[1].span == chosen.span]
    least = min(depth for depth, _ in same)
    outermost = [cost for depth, cost in same if depth == least]
    summed = combine(outermost)
    return (
        replace(summed, label=MACRO) if _is_called(chosen, line) and len(outermost) > 1 else summed
    )


def lines_of(cost: BreakdownEntry) -> set[int]:
    """The lines of the text of an entry: all lines of an operation, the first line of a loop."""
    own = {site.line for site in cost.sites if site.file is None}
    if cost.span.file is not None:
        return own
    last = cost.span.end_line if cost.kind == "op" else cost.span.line
    return own | set(range(cost.span.line, last + 1))


def total(values: Iterable[float | None]) -> float | None:
    """The sum of `values`, or None if any of them is unknown."""
    found: float = 0
    for value in values:
        if value is None:
            return None
        found += value
    return found


def operations(costs: Iterable[BreakdownEntry]) -> Operations:
    """The operations of some lines together."""
    from tirlens.model.operations import sum_counts

    return sum_counts(cost.operations for cost in costs)


def combine(costs: Sequence[BreakdownEntry]) -> BreakdownEntry:
    """The sum of entries at one text, with these inside it; a single one as it is."""
    if len(costs) == 1:
        return costs[0]
    return replace(
        costs[0],
        kind="op",
        span=costs[0].span,
        trips=None,
        executions=None,
        flop=_integer_total(cost.flop for cost in costs),
        int_ops=_integer_total(cost.int_ops for cost in costs),
        integer_flop=sum(cost.integer_flop for cost in costs),
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


def _covers(span: Span, line: int, column: int) -> bool:
    if not span.line <= line <= span.end_line:
        return False
    after_start = line > span.line or column >= span.column
    before_end = line < span.end_line or column < span.end_column
    return after_start and before_end
