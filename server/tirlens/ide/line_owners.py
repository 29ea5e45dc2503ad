"""One owner for each line of a text: the kernel whose figures the line has.

The kernels of a text may come from the same lines: the versions of a schedule from one tensor
expression, the functions of a module from one statement, several kernels from one macro. Hints,
hovers and marks of the hottest lines all take the owners from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from tirlens.ide import entries, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tirlens.model.report import BreakdownEntry, KernelReport

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class Owner:
    """A report with the lines whose figures are its own.

    Attributes
    ----------
    report
        The report of a kernel. Of several kernels that come from the lines together, their sum: its
        breakdown has one entry a line, with an entry of each kernel inside it.
    lines
        Lines of the text, 1-based.
    """

    report: KernelReport
    lines: frozenset[int]


def line_owners(reports: Sequence[KernelReport]) -> list[Owner]:
    """The owners of the lines of a text, each line with one, in the order of the reports.

    The last version of a kernel owns the lines that its versions have in common: what the last
    statement builds, of the call that is displayed first. All the kernels of this statement that
    come from a line own it together, each as often as its module calls it.
    """
    at_line: dict[int, list[int]] = {}
    for index, report in enumerate(reports):
        for line in _lines(report.loops):
            at_line.setdefault(line, []).append(index)
    lines_of: dict[tuple[int, ...], set[int]] = {}
    for line, indices in at_line.items():
        lines_of.setdefault(_last_version(reports, indices), set()).add(line)
    return [
        Owner(_together([reports[i] for i in owners], reports, lines), frozenset(lines))
        for owners, lines in sorted(lines_of.items())
    ]


def owner_at(reports: Sequence[KernelReport], line: int) -> KernelReport | None:
    """The owner of one line, as `line_owners` has it; None for a line without figures."""
    claiming = [
        index
        for index, report in enumerate(reports)
        if any(line in entries.lines_of(cost) for cost in _entries(report.loops))
    ]
    if not claiming:
        return None
    owners = _last_version(reports, claiming)
    return _together([reports[i] for i in owners], reports, (line,))


def title(report: KernelReport) -> str:
    """The name of the kernel that owns a line, with the line of its version if it has several."""
    name = labels.title(report)
    return name if report.built is None else f"{name}, line {report.span.line}"


def _lines(loops: Iterable[BreakdownEntry]) -> set[int]:
    """The lines of the text on which an entry has figures."""
    return {line for cost in _entries(loops) for line in entries.lines_of(cost)}


def _entries(loops: Iterable[BreakdownEntry]) -> Iterator[BreakdownEntry]:
    for loop in loops:
        for _, cost in loop.walk():
            if cost.kind not in entries.WITHOUT_LINE:
                yield cost


def _last_version(reports: Sequence[KernelReport], claiming: Sequence[int]) -> tuple[int, ...]:
    """The positions of the reports that own a line, of those that have figures there."""
    built = [i for i in claiming if reports[i].built is not None]
    if not built:
        return _first_call(reports, claiming)
    last = max(_statement_line(reports[i]) for i in built)
    latest = [i for i in built if _statement_line(reports[i]) == last]
    own = [i for i in latest if reports[i].span.line == last] or latest
    return tuple(i for i in own if reports[i].span.line == reports[own[0]].span.line)


def _statement_line(report: KernelReport) -> int:
    """The line of the statement that built a kernel first."""
    same_as = report.built.same_as if report.built else None
    return report.span.line if same_as is None else same_as.line


def _first_call(reports: Sequence[KernelReport], claiming: Sequence[int]) -> tuple[int, ...]:
    """The kernels of the first call of each definition: other calls are alternatives to it."""
    calls: dict[str, tuple[str, object]] = {}
    for i in claiming:
        calls.setdefault(reports[i].definition, _call(reports[i]))
    return tuple(i for i in claiming if _call(reports[i]) == calls[reports[i].definition])


def _call(report: KernelReport) -> tuple[str, object]:
    return report.call, tuple(report.bindings.items())


def _together(
    owners: Sequence[KernelReport], reports: Sequence[KernelReport], lines: Iterable[int]
) -> KernelReport:
    if len(owners) == 1:
        return owners[0]
    first = owners[0]
    whole = owners
    if first.built is not None:
        whole = [item for item in reports if item.built and item.span == first.span]
    times = [_scale(item.time_s, _calls(item)) for item in whole]
    is_one_device = len({item.device_id for item in whole}) == 1
    time_s = entries.total(times) if is_one_device else None
    return replace(
        first,
        name=f"{len(whole)} kernels",
        time_s=time_s,
        loops=tuple(_sum(owners, line, time_s) for line in sorted(lines)),
        advice=(),
    )


def _sum(owners: Sequence[KernelReport], line: int, total_s: float | None) -> BreakdownEntry:
    """The entries of several kernels at a line as one entry, with those of each kernel inside."""
    parts = [_of_kernel(report, line, total_s) for report in owners]
    names = list(dict.fromkeys(report.name for report in owners))
    summed = entries.combine([part for part in parts if part is not None])
    if total_s is None:
        summed = replace(summed, time_s=None, share=None)
    label = names[0] if len(names) == 1 else f"{len(names)} kernels"
    return replace(summed, label=label)


def _of_kernel(report: KernelReport, line: int, total_s: float | None) -> BreakdownEntry | None:
    outermost = list(_outermost(report.loops, line))
    if not outermost:
        return None
    cost, calls = entries.combine(outermost), _calls(report)
    time_s = _scale(cost.time_s, calls)
    return replace(
        cost,
        label=report.name,
        flop=_scale(cost.flop, calls),
        int_ops=_scale(cost.int_ops, calls),
        integer_flop=cost.integer_flop * calls,
        global_bytes=_scale(cost.global_bytes, calls),
        dram_bytes=_scale(cost.dram_bytes, calls),
        l2_bytes=_scale(cost.l2_bytes, calls),
        shared_bytes=_scale(cost.shared_bytes, calls),
        time_s=time_s,
        share=None if time_s is None or not total_s else time_s / total_s,
        bound=report.bound,
        children=(),
    )


def _outermost(costs: Iterable[BreakdownEntry], line: int) -> Iterator[BreakdownEntry]:
    for cost in costs:
        if cost.kind not in entries.WITHOUT_LINE and line in entries.lines_of(cost):
            yield cost
        else:
            yield from _outermost(cost.children, line)


def _calls(report: KernelReport) -> int:
    return report.built.calls if report.built is not None else 1


def _scale(value: _Number | None, factor: int) -> _Number | None:
    return None if value is None else value * factor
