"""Inlay hints: what each line of a kernel costs, at the end of that line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.ide import entries, labels
from tirlens.ide.history import change
from tirlens.ide.line_changes import own_shares
from tirlens.ide.line_owners import line_owners, title

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tirlens.model.report import BreakdownEntry, KernelReport

SMALLEST_SHARE = 0.01
"""A line below this share of its kernel's time gets no hint."""
HOTTEST_LINES = 3
"""So many lines of a kernel have a hint where only the hottest ones have."""
_NO_TIMES: Mapping[int, float] = {}


@dataclass(frozen=True)
class Hint:
    """A label at the end of `line`, for the text of the lines `line` to `last_line`.

    Lines are 1-based and of the analysed text.
    """

    line: int
    last_line: int
    label: str
    tooltip: str


@dataclass(frozen=True)
class HintOptions:
    """Which hints are wanted.

    Attributes
    ----------
    smallest_share
        A line below this share of its kernel's time gets no hint.
    only_hottest
        Whether only the `HOTTEST_LINES` lines with the largest own shares get one.
    columns
        A hint ends before this column; parts that do not fit are left out.
    """

    smallest_share: float = SMALLEST_SHARE
    only_hottest: bool = False
    columns: int | None = None


def file_hints(
    reports: Sequence[KernelReport],
    lines: Sequence[str],
    options: HintOptions,
    times_before: Callable[[KernelReport], Mapping[int, float]] = lambda _: _NO_TIMES,
) -> list[Hint]:
    """The hints of a file.

    Parameters
    ----------
    reports
        The reports of its kernels.
    lines
        The lines of the analysed text.
    options
        Which hints are wanted.
    times_before
        The times to compare with by line; empty for hints without a change.
    """
    return [
        hint
        for owner in line_owners(reports)
        for hint in hints(
            owner.report,
            options.smallest_share,
            times_before(owner.report),
            owner.lines.intersection(hottest_lines(owner.report))
            if options.only_hottest
            else owner.lines,
            lambda line: room(lines, line, options.columns),
        )
    ]


def fitting(found: Iterable[Hint], lines: Sequence[str], columns: int | None) -> list[Hint]:
    """Hints that end before a column, without the parts and hints for which there is no room."""
    cut = (
        replace(hint, label=labels.cut_hint(hint.label, room(lines, hint.line, columns)))
        for hint in found
    )
    return [hint for hint in cut if hint.label]


def room(lines: Sequence[str], line: int, columns: int | None) -> int:
    """The characters that a hint behind a line may have; negative behind a longer line."""
    if columns is None or line > len(lines):
        return labels.INLAY_LIMIT
    # One column is the space between the text and the hint.
    return min(labels.INLAY_LIMIT, columns - len(lines[line - 1].expandtabs(4)) - 1)


def hottest_lines(report: KernelReport) -> list[int]:
    """The lines with the largest shares of the kernel's time, each without the lines inside it."""
    shares = own_shares(report)
    ordered = sorted(shares, key=lambda line: -shares[line])
    return [line for line in ordered if line != report.span.line][:HOTTEST_LINES]


def hints(
    report: KernelReport,
    smallest_share: float = SMALLEST_SHARE,
    times_before: Mapping[int, float] = _NO_TIMES,
    only: Collection[int] | None = None,
    room_at: Callable[[int], int] = lambda _: labels.INLAY_LIMIT,
) -> list[Hint]:
    """One hint a line of the document, or of the lines `only`, where `room_at` it has room.

    The cost of a loop includes that of its body; a line of the body has no hint if that of the
    loop says as much.  Several nodes that start on one line are merged: an outer loop includes the
    inner ones, and siblings are summed.  The launch and the tail belong to no line and have no
    hint.
    """
    by_line: dict[int, list[BreakdownEntry]] = {}
    around: dict[int, set[int | None]] = {}
    for outer_line, cost in _outermost_of_line(report.loops, None):
        if only is not None and cost.span.line not in only:
            continue
        by_line.setdefault(cost.span.line, []).append(cost)
        around.setdefault(cost.span.line, set()).add(outer_line)
    found: list[Hint] = []
    # The whole label of each line, and how much of it is displayed there or around it.
    labelled: dict[int, tuple[str, int]] = {}
    for line, costs in sorted(by_line.items()):
        share = entries.total(cost.share for cost in costs)
        if share is not None and share < smallest_share:
            label = _overlapped_label(costs, report, smallest_share)
        else:
            time_s = entries.total(cost.time_s for cost in costs)
            operations = entries.operations(costs)
            label = labels.inlay(
                time_s,
                share,
                operations.main,
                entries.total(cost.dram_bytes for cost in costs),
                change(time_s, times_before.get(line)),
                labels.operations_unit(operations),
            )
        kept = labels.cut_hint(label, room_at(line))
        outside = [labelled.get(outer or 0, ("", 0)) for outer in around[line]]
        displayed = min(length if text == label else 0 for text, length in outside)
        if len(kept) > displayed:
            last_line = max(_own_last_line(cost) for cost in costs)
            found.append(Hint(line, last_line, kept, _tooltip(costs, report)))
        labelled[line] = (label, max(len(kept), displayed))
    return found


def _overlapped_label(
    costs: list[BreakdownEntry], report: KernelReport, smallest_share: float
) -> str:
    """``1.4 ms overlapped | 1.1 TFLOP``: work that adds no time because it overlaps other work."""
    overlapped_s = sum(cost.overlapped_s or 0.0 for cost in costs)
    if not overlapped_s or not report.time_s or overlapped_s < smallest_share * report.time_s:
        return ""
    operations = entries.operations(costs)
    work = f" | {labels.work(operations, 2)}" if operations.main else ""
    return f"{labels.seconds(overlapped_s, 2)} overlapped{work}"


def _outermost_of_line(
    costs: Iterable[BreakdownEntry], parent_line: int | None
) -> Iterator[tuple[int | None, BreakdownEntry]]:
    """The nodes that are not inside another node of the same line, each after its parent's line.

    Only lines of the document itself count.
    """
    for cost in costs:
        line = cost.span.line if cost.span.file is None else None
        if line is not None and line != parent_line and cost.kind not in ("launch", "tail"):
            yield parent_line, cost
        yield from _outermost_of_line(cost.children, line if line is not None else parent_line)


def _own_last_line(cost: BreakdownEntry) -> int:
    """The last line that the hint describes: of the statement, or of the head of a loop."""
    return cost.span.end_line if cost.kind == "op" else cost.span.line


def _tooltip(costs: list[BreakdownEntry], report: KernelReport) -> str:
    names = ", ".join(dict.fromkeys(cost.label for cost in costs))
    bound = costs[0].bound
    why = f"; {bound}-bound" if bound and len(costs) == 1 else ""
    return f"{names}: share of {title(report)} on {report.device_id}{why}"
