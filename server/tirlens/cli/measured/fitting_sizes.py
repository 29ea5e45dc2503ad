"""Calls of a kernel that would have the launch of a measured one, for what no known call fits.

Each dimension of a grid that differs is taken to follow one of the sizes in proportion, as tiles of
that size do.  Which one, and whether it does, the analysis of the call shows: a call is named only
if its launch is the measured one.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tirlens.cli import file_analysis
from tirlens.cli.errors import UsageError
from tirlens.cli.traced_file import Traced
from tirlens.measured.groups import Group
from tirlens.measured.matching.matches import Matcher
from tirlens.measured.matching.outcomes import Ambiguous, Candidate, Match
from tirlens.pipeline.analysis_request import with_arguments
from tirlens.source.source_file import KernelSource

MOST_KERNELS = 4
"""For so many measured kernels, those that take longest, calls are looked for."""
_MOST_CALLS = 6


_Sizes: TypeAlias = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Change:
    """A call of a kernel with other arguments, and with other sizes of dynamic dimensions."""

    path: str
    kernel: str
    call: str
    sizes: _Sizes


def fitting_calls(
    group: Group,
    named: Sequence[Candidate],
    traced: Sequence[Traced],
    arguments: argparse.Namespace,
    device_id: str,
) -> tuple[str, ...]:
    """The calls, as titles, of the kernels `named` like `group` whose launch is that of `group`.

    Parameters
    ----------
    traced
        The files of the kernels.
    arguments
        Those of the command.
    device_id
        The device of the trace.
    """
    by_path = {file.path: file for file in traced}
    changes = dict.fromkeys(
        change
        for candidate in named
        for change in _changes(group, candidate, by_path[candidate.path])
    )
    # Calls with the same sizes of dynamic dimensions are analysed together.
    calls: dict[tuple[str, str, _Sizes], list[str]] = {}
    for change in list(changes)[:_MOST_CALLS]:
        calls.setdefault((change.path, change.kernel, change.sizes), []).append(change.call)
    found: list[Candidate] = []
    for (path, kernel, sizes), own in calls.items():
        found += _analyse(path, kernel, own, sizes, arguments, device_id)
    match Matcher(found).match(group):
        case Match(candidate=candidate):
            return (candidate.title,)
        case Ambiguous(titles=titles):
            return titles
        case _:
            return ()


def _changes(group: Group, candidate: Candidate, file: Traced) -> Iterator[_Change]:
    """Calls with sizes that are to the known ones as the measured grid is to the known grid."""
    report = candidate.report
    kernel = _source_of(candidate, file)
    measured = None if group.identity is None else group.identity.grid
    if measured is None or kernel is None or report.sequence or not report.grid:
        return
    known = (*report.grid, 1, 1)[:3]
    differing = [
        (now, before)
        for now, before in zip(measured, known, strict=True)
        if now != before and before > 0
    ]
    for names in itertools.permutations(report.sizes, len(differing)):
        sizes = {
            name: -(-report.sizes[name] // before) * now
            for name, (now, before) in zip(names, differing, strict=True)
        }
        own = {name: size for name, size in sizes.items() if name in kernel.parameters}
        dynamic = {name: size for name, size in sizes.items() if name in report.bindings}
        if len(own) + len(dynamic) == len(sizes) > 0:
            call = with_arguments(report.call, kernel, own)
            yield _Change(candidate.path, kernel.name, call, tuple(sorted(dynamic.items())))


def _source_of(candidate: Candidate, file: Traced) -> KernelSource | None:
    report = candidate.report
    return next(
        (
            kernel
            for kernel in file.source.kernels
            if (kernel.name, kernel.span.line) == (report.definition, report.span.line)
        ),
        None,
    )


def _analyse(
    path: str,
    kernel: str,
    calls: list[str],
    sizes: _Sizes,
    arguments: argparse.Namespace,
    device_id: str,
) -> Iterator[Candidate]:
    asked = argparse.Namespace(**vars(arguments))
    asked.files, asked.kernel, asked.call, asked.captures = [path], [kernel], calls, None
    asked.bind = [*arguments.bind, *(f"{name}={size}" for name, size in sizes)]
    asked.device, asked.force_device = [device_id], True
    asked.all_calls, asked.by_launches, asked.advice = False, False, False
    try:
        traced = file_analysis.trace(asked)
    except UsageError:
        return
    for report in file_analysis.reports_of(traced, arguments.jobs):
        yield from (Candidate(report.path, kernel) for kernel in report.kernels)
