"""The kernels of named files, analysed for the devices of traces and matched with their groups."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tirlens.cli import file_analysis, outcome
from tirlens.cli.captured_files import take_captures
from tirlens.cli.errors import UsageError
from tirlens.cli.measured.fitting_sizes import MOST_KERNELS, fitting_calls
from tirlens.cli.measured.kernel_lines import SampledKernel, sampled_kernels
from tirlens.cli.traced_file import Traced
from tirlens.hardware import DEFAULT_DEVICE
from tirlens.hardware.detect import machine_device
from tirlens.measured.groups import Group, group_operations
from tirlens.measured.matching.matches import Matcher
from tirlens.measured.matching.outcomes import Ambiguous, Candidate, Match, Unanalysed, Unmatched
from tirlens.measured.matching.residuals import Residual, residual_of
from tirlens.measured.performance.devices import catalogue_device
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.reading.trace import Trace
from tirlens.pipeline import FileReport
from tirlens.source.source_file import KernelSource


@dataclass(frozen=True)
class WorkspaceMatches:
    """The measured kernels beside those of the workspace.

    Attributes
    ----------
    matched
        The matched ones with their predictions, in the order of the time that they took.
    kernel_time_s
        The time of all measured kernels, matched or not.
    notes
        On the devices of the traces.
    traced
        The files of the workspace.
    sampled
        The kernels of which the traces have samples of source lines.
    """

    matched: tuple[Residual, ...]
    ambiguous: tuple[Ambiguous, ...]
    unmatched: tuple[Unmatched, ...]
    kernel_time_s: float
    notes: tuple[str, ...]
    traced: tuple[Traced, ...]
    sampled: tuple[SampledKernel, ...] = ()


def match_workspace(report: MeasuredReport, arguments: argparse.Namespace) -> WorkspaceMatches:
    """Analyse the sources of a report with all calls that are known, and match its operations.

    Raises
    ------
    UsageError
        Nothing is to be analysed.
    """
    notes: dict[str, None] = {}
    boards = {
        (str(trace.path), device.device): device.name or ""
        for trace in report.traces
        for device in trace.devices
    }
    groups = [
        (group, device_id)
        for trace in report.traces
        for group, device_id in _groups(trace, report, arguments, notes)
    ]
    ids = list(dict.fromkeys(device_id for _, device_id in groups))
    traced = _analyse(report.sources, ids or arguments.device, arguments)
    matched: list[Residual] = []
    ambiguous: list[Ambiguous] = []
    unmatched: list[Unmatched] = []
    searched = 0
    for device_id in ids:
        reports = file_analysis.reports_of(traced, arguments.jobs, device=device_id)
        matcher = Matcher(_candidates(reports), _without_figures(reports))
        own = [group for group, own_id in groups if own_id == device_id]
        for group in sorted(own, key=lambda group: -group.time.total):
            match matcher.match(group):
                case Match() as found:
                    matched.append(residual_of(found, boards.get(_device_key(group), "")))
                case Ambiguous() as found:
                    ambiguous.append(found)
                case Unmatched() as found:
                    named = matcher.named_as(group) if found.is_named else []
                    if named and searched < MOST_KERNELS and not found.is_of_call:
                        searched += 1
                        found = _with_fitting(found, named, traced, arguments, device_id)
                    unmatched.append(found)
        if device_id == ids[0]:
            outcome.print_problems(file_analysis.in_cells(traced, reports))
    matched.sort(key=lambda one: -one.match.group.time.total)
    ambiguous.sort(key=lambda one: -one.group.time.total)
    unmatched.sort(key=lambda one: (not one.is_named, -one.group.time.total))
    total_s = sum(group.time.total for group, _ in groups)
    return WorkspaceMatches(
        tuple(matched),
        tuple(ambiguous),
        tuple(unmatched),
        total_s,
        tuple(notes),
        tuple(traced),
        sampled_kernels(report, traced),
    )


def _with_fitting(
    unmatched: Unmatched,
    named: Sequence[Candidate],
    traced: Sequence[Traced],
    arguments: argparse.Namespace,
    device_id: str,
) -> Unmatched:
    """What is not matched, with the calls that would fit."""
    calls = fitting_calls(unmatched.group, named, traced, arguments, device_id)
    if not calls:
        return unmatched
    fits = f"it would be that of {' or '.join(calls)}, which --call gives"
    return replace(unmatched, reason=f"{unmatched.reason}; {fits}", fitting=calls)


def _device_key(group: Group) -> tuple[str, str | None]:
    return group.first.position.path, group.first.device


def _groups(
    trace: Trace, report: MeasuredReport, arguments: argparse.Namespace, notes: dict[str, None]
) -> Iterator[tuple[Group, str]]:
    """The kernels of a trace among the rows of a report, each with the device of its figures."""
    operations = (row.operation for row in report.unmerged_rows)
    groups = group_operations(
        operation
        for operation in operations
        if operation.kind == "kernel" and operation.position.path == str(trace.path)
    )
    ids: dict[str | None, str] = {}
    for device in trace.devices:
        found = catalogue_device(device)
        if found is not None:
            ids[device.device] = found.id
            if found.note and not arguments.device:
                notes[found.note] = None
    only = next(iter(ids.values())) if len(set(ids.values())) == 1 else None
    for group in (*groups.all(), *filter(None, [groups.further])):
        device_id = ids.get(group.first.device) or (only if group.first.device is None else None)
        if arguments.device:
            device_id = arguments.device[0]
        elif device_id is None:
            device = machine_device()
            device_id = DEFAULT_DEVICE if device is None else device.id
            named = group.first.device or "no device"
            notes[f"{trace.path}: names {named}, which is not in the catalogue: {device_id}"] = None
        yield group, device_id


def _analyse(
    sources: Sequence[Path], ids: Sequence[str], arguments: argparse.Namespace
) -> list[Traced]:
    asked = argparse.Namespace(**vars(arguments))
    asked.files = [str(path) for path in sources]
    asked.device, asked.force_device = list(ids), True
    asked.all_calls, asked.by_launches = not arguments.call, False
    asked.advice = False
    take_captures(asked)
    if not asked.files:
        raise UsageError("no files of kernels are named")
    return file_analysis.trace(asked)


def _candidates(reports: Sequence[FileReport]) -> Iterator[Candidate]:
    for file in reports:
        for kernel in file.kernels:
            if kernel.has_counts and kernel.is_last_version:
                yield Candidate(file.path, kernel)


def _without_figures(reports: Sequence[FileReport]) -> Iterator[Unanalysed]:
    """The kernels of the texts that have no figures, except those that the options leave out."""
    for file in reports:
        analysed = {
            (kernel.definition, kernel.span.line) for kernel in file.kernels if kernel.has_counts
        }
        names = {name for name, _ in analysed}
        for kernel in file.source.kernels:
            is_known = (kernel.name, kernel.span.line) in analysed or (
                kernel.is_certain is False and kernel.name in names
            )
            if not (is_known or kernel.off or kernel in file.unselected):
                yield Unanalysed(file.path, frozenset(_names(kernel)), _reason(file, kernel))


def _names(kernel: KernelSource) -> set[str]:
    """The names that its function may have."""
    return {kernel.prim_func or kernel.name.rpartition(".")[2]}


def _reason(file: FileReport, kernel: KernelSource) -> str:
    for needs in file.needs:
        if needs.kernel == kernel.name:
            return f"needs {', '.join(needs.names)}"
    for report in file.kernels:
        if report.definition == kernel.name and report.message:
            return report.message
    for problem in file.problems:
        if problem.kernel in (kernel.name, None):
            return problem.message.partition("\n")[0]
    return "no call yields it"
