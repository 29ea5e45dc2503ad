"""The line whose change explains that a kernel takes longer.

The time of a kernel is on its statements, and the statement that takes longer need not be the one
that was edited: a loop around a copy, a number of stages, a tile. The line to name is the edited
one, with the statement whose time has grown most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tirlens.ide import labels
from tirlens.ide.line_changes import LineChange, line_changes
from tirlens.ide.line_map import LineMap
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens.pipeline import FileReport
from tirlens.source import Reach
from tirlens_worker.facts import Span

# An edited line that has at least this part of the growth of all lines explains it.
_MAIN_PART = 0.25
_MAX_CHARACTERS = 60


@dataclass(frozen=True)
class Lines:
    """The lines of a file before and now, without indentation, and which correspond."""

    before: Sequence[str]
    now: Sequence[str]
    file: FileReport

    @classmethod
    def between(cls, before: FileReport, now: FileReport) -> Lines:
        """The lines of two reports of one file."""
        return cls(_lines_of(before), _lines_of(now), now)

    @cached_property
    def map(self) -> LineMap:
        """The lines of now for those before."""
        return LineMap.between(self.before, self.now)

    def is_edited(self, line: int) -> bool:
        """Whether the present `line` is new or changed, or a line just above it was removed."""
        if not 1 <= line <= len(self.now) or _is_no_code(self.now[line - 1]):
            return False
        return self.map.analysed_line(line) is None or self.removed_above(line) is not None

    def removed_above(self, line: int) -> str | None:
        """The last line of code that was removed between the present `line` and the one above it,
        neither of which is edited; None if none was."""
        here = self.map.analysed_line(line)
        if here is None or (self.map.analysed_line(line - 1) is None and line > 1):
            return None
        above = self.map.analysed_line(line - 1) or 0
        removed = [text for text in self.before[above : here - 1] if not _is_no_code(text)]
        return removed[-1] if removed else None


@dataclass(frozen=True)
class ChangedLine:
    """The line to name for a growth.

    Attributes
    ----------
    span
        The edited line; of the statement, if none that the kernel depends on is edited.
    edit
        The edited line in words; empty if it is that of the statement.
    statement
        Where the statement is whose time has grown most.
    growth
        Its time before and now.
    """

    span: Span
    edit: str
    statement: Span
    growth: str


def changed_line(before: KernelReport, now: KernelReport, lines: Lines) -> ChangedLine | None:
    """The line whose change explains the growth of the time; None if no statement takes longer."""
    grown = [
        item
        for item in line_changes(before, now, lines.map)
        if item.change_s > 0 and item.line is not None
    ]
    if not grown:
        return None
    growth_s = sum(item.change_s for item in grown)
    edited = [item for item in grown if lines.is_edited(item.line or 0)]
    main = edited[0] if edited and edited[0].change_s >= _MAIN_PART * growth_s else grown[0]
    statement = _statement(now, main)
    span = statement.span if statement else now.span
    cause = main.line if main in edited else _edited_line(now, main.line or 0, lines)
    if cause is None or cause == main.line:
        return ChangedLine(span, "", span, _growth(statement, main))
    removed = lines.removed_above(cause)
    edit = f"without `{_short(removed)}`" if removed else f"`{_short(lines.now[cause - 1])}`"
    return ChangedLine(Span(cause, 0, cause, 0), edit, span, _growth(statement, main))


def _edited_line(kernel: KernelReport, grown: int, lines: Lines) -> int | None:
    """The edited line that the statement at the line `grown` depends on: the innermost loop or
    branch around it, else the nearest of the kernel, else of what the kernel uses."""
    around = [line for line in _lines_around(kernel, grown) if lines.is_edited(line)]
    if around:
        return around[-1]
    for candidates in (_own_lines(kernel, lines), _used_lines(kernel, lines)):
        edited = [line for line in candidates if lines.is_edited(line)]
        if edited:
            # An edit has an effect on what follows it, first.
            return min(edited, key=lambda line: (line > grown, abs(grown - line)))
    return None


def _lines_around(kernel: KernelReport, line: int) -> list[int]:
    """The lines of the loops and branches around the statement at `line`, the outermost first."""

    def search(costs: Sequence[BreakdownEntry], outer: list[int]) -> list[int] | None:
        for cost in costs:
            here = [*outer, cost.span.line] if cost.span.file is None else outer
            if here and here[-1] == line:
                return outer
            found = search(cost.children, here)
            if found is not None:
                return found
        return None

    return search(kernel.loops, []) or []


def _own_lines(kernel: KernelReport, lines: Lines) -> range:
    source = next(
        (item for item in lines.file.source.kernels if item.name == kernel.definition), None
    )
    return range(source.extent.line, source.extent.end_line + 1) if source else range(0)


def _used_lines(kernel: KernelReport, lines: Lines) -> Iterator[int]:
    """The lines of the statements of the file that the kernel depends on."""
    statements = lines.file.source.statements
    reach = Reach(statements)
    for index in reach.of(reach.at([kernel.span.line]), [kernel.call]):
        yield from range(statements[index].line, statements[index].end_line + 1)


def _statement(kernel: KernelReport, change: LineChange) -> BreakdownEntry | None:
    """The statement at the line of `change` that takes the most time."""
    here = (cost for _, cost in kernel.walk() if _is_at(cost, change.line))
    return max(here, key=lambda cost: (not cost.children, cost.time_s or 0.0), default=None)


def _is_at(cost: BreakdownEntry, line: int | None) -> bool:
    return cost.span.file is None and cost.span.line == line


def _growth(statement: BreakdownEntry | None, change: LineChange) -> str:
    label = _short(statement.label) if statement else "launch"
    had = labels.seconds(change.before_s) if change.before_s else "new"
    return f"{label}: {had} -> {labels.seconds(change.time_s)}"


def _short(text: str) -> str:
    return labels.shorten(" ".join(text.split()), _MAX_CHARACTERS)


def _lines_of(file: FileReport) -> list[str]:
    return [line.strip() for line in file.source.text.splitlines()]


def _is_no_code(line: str) -> bool:
    return not line or line.startswith("#")
