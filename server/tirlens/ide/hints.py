"""Inlay hints: what each line of a kernel costs, at the end of that line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import entries, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirlens.model.report import BreakdownEntry, KernelReport

SMALLEST_SHARE = 0.01
"""A line below this share of its kernel's time gets no hint."""


@dataclass(frozen=True)
class Hint:
    """A label at the end of `line`, for the text of the lines `line` to `last_line`.

    Lines are 1-based and of the analysed text.
    """

    line: int
    last_line: int
    label: str
    tooltip: str


def hints(report: KernelReport, smallest_share: float = SMALLEST_SHARE) -> list[Hint]:
    """One hint a line of the document.

    The cost of a loop includes that of its body; a line of the body with the same label has no
    hint.  Several nodes that start on one line are merged: an outer loop includes the inner ones,
    and siblings are summed.  The launch and the tail belong to no line and have no hint.
    """
    by_line: dict[int, list[BreakdownEntry]] = {}
    around: dict[int, set[int | None]] = {}
    for outer_line, cost in _outermost_of_line(report.loops, None):
        by_line.setdefault(cost.span.line, []).append(cost)
        around.setdefault(cost.span.line, set()).add(outer_line)
    found: list[Hint] = []
    labelled: dict[int, str] = {}
    for line, costs in sorted(by_line.items()):
        share = entries.total(cost.share for cost in costs)
        if share is not None and share < smallest_share:
            label = _overlapped_label(costs, report, smallest_share)
        else:
            label = labels.inlay(
                entries.total(cost.time_s for cost in costs),
                share,
                entries.total(cost.flop for cost in costs),
                entries.total(cost.dram_bytes for cost in costs),
            )
        labelled[line] = label
        repeats = all(outer is not None and labelled.get(outer) == label for outer in around[line])
        if label and not repeats:
            last_line = max(_own_last_line(cost) for cost in costs)
            found.append(Hint(line, last_line, label, _tooltip(costs, report)))
    return found


def _overlapped_label(
    costs: list[BreakdownEntry], report: KernelReport, smallest_share: float
) -> str:
    """``1.4 ms hidden | 1.1 TF``: work that adds no time because it overlaps other work."""
    hidden_s = sum(cost.overlapped_s or 0.0 for cost in costs)
    if not hidden_s or not report.time_s or hidden_s < smallest_share * report.time_s:
        return ""
    flop = entries.total(cost.flop for cost in costs)
    work = f" | {labels.quantity(flop, 'F', 2)}" if flop else ""
    return f"{labels.seconds(hidden_s, 2)} hidden{work}"


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
    return f"{names}: share of {report.name} on {report.device_id}{why}"
