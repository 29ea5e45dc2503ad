"""The operations of traces that the options select, with their performance."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tirlens.cli.errors import UsageError
from tirlens.cli.rows import selection
from tirlens.hardware import Device, DeviceError
from tirlens.hardware import load as load_device
from tirlens.ide import labels
from tirlens.measured.performance import merging
from tirlens.measured.performance.peaks import devices_by_name, peaks_of
from tirlens.measured.performance.rates import Performance, performances, with_shares
from tirlens.measured.performance.report import Line, MeasuredReport
from tirlens.measured.performance.sections import (
    Section,
    SectionChoice,
    SectionError,
    choose_section,
)
from tirlens.measured.performance.tensix import work_of
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import Operation, Signpost

_MUTED_SHARE = 0.005


def select(
    traces: Sequence[Trace], sources: tuple[Path, ...], arguments: argparse.Namespace
) -> MeasuredReport:
    """The report of the selected operations; `sources` are files of kernels named beside them.

    Raises
    ------
    UsageError
        A signpost, range or device of the options does not exist.
    """
    notes: list[str] = []
    sections = [section_of(trace, arguments, notes) for trace in traces]
    find_device = _device_finder(traces, arguments, notes)
    operations = [
        _with_cores(
            _with_active_experts(operation, arguments.active_experts), find_device(operation)
        )
        for section in sections
        for operation in section.operations
    ]
    begins: Sequence[int] = range(len(operations))
    is_merged = arguments.merge_devices
    if is_merged is None:
        is_merged = merging.execute_the_same(operations)
    has_devices_apart = False
    unmerged: tuple[Performance, ...] | None = None
    if is_merged:
        unmerged = _performances(operations, find_device)
        merged = merging.merge(operations)
        operations, begins = list(merged.operations), merged.begins
        notes += _merging_notes(merged)
    else:
        devices = {(each.position.path, each.device) for each in operations if each.device}
        has_devices_apart = len(devices) > 1
        if has_devices_apart and arguments.merge_devices is None:
            notes.append(
                f"{len(devices)} devices execute different operations and are apart; "
                "--merge-devices merges them"
            )
    rows = _performances(operations, find_device)
    lines: list[Line] = list(rows)
    if arguments.print_signposts:
        lines = list(_with_signposts(rows, begins, sections))
    lines = _in_range(lines, arguments.id_range)
    if arguments.no_host_ops:
        lines = [line for line in lines if not _is_of_host(line)]
    lines = _renew_shares(lines)
    kept = tuple(line for line in lines if isinstance(line, Performance))
    if unmerged is None:
        # Small operations are work, too: without them their time would be idle.
        unmerged = kept
    elif arguments.id_range is not None:
        unmerged = tuple(map(_without_begin, kept))
    lines = _without_small(lines, arguments.min_percentage, notes)
    return MeasuredReport(
        tuple(traces),
        tuple(lines),
        unmerged,
        _MUTED_SHARE if arguments.min_percentage is None else 0.0,
        has_devices_apart,
        sources,
        tuple(notes),
    )


def _without_begin(row: Performance) -> Performance:
    """A merged operation, which has the gap of all devices and a begin of one."""
    return replace(row, operation=replace(row.operation, device=None, start_s=None))


def _performances(
    operations: Iterable[Operation], find_device: Callable[[Operation], Device | None]
) -> tuple[Performance, ...]:
    return performances((each, peaks_of(each, find_device(each))) for each in operations)


def _with_cores(operation: Operation, device: Device | None) -> Operation:
    """A launch on a GPU with the SMs that have one of its blocks."""
    if operation.cores is not None or operation.grid is None or device is None:
        return operation
    return replace(operation, cores=min(math.prod(operation.grid), device.sm_count) or None)


def _is_of_host(line: Line) -> bool:
    return isinstance(line, Performance) and line.operation.kind == "host"


def section_of(trace: Trace, arguments: argparse.Namespace, notes: list[str]) -> Section:
    """The section of a trace that the options ask for, with a note on what was chosen.

    Raises
    ------
    UsageError
        A signpost of the options does not exist.
    """
    choice = SectionChoice(
        arguments.start_signpost,
        arguments.end_signpost,
        arguments.signpost,
        arguments.ignore_signposts,
        arguments.tracing_mode,
    )
    try:
        section = choose_section(trace, choice)
    except SectionError as error:
        raise UsageError(f"{trace.path}: {error}") from error
    if section.note is not None:
        notes.append(f"{trace.path}: {section.note}; --ignore-signposts takes the whole trace")
    return section


def _device_finder(
    traces: Sequence[Trace], arguments: argparse.Namespace, notes: list[str]
) -> Callable[[Operation], Device | None]:
    """The device that an operation ran on, as the option or its trace names it."""
    if arguments.device:
        device = _device(arguments.device[-1])
        return lambda operation: device
    by_file: dict[str, dict[str | None, Device]] = {}
    for trace in traces:
        found = dict(devices_by_name(trace.devices))
        by_file[str(trace.path)] = found
        for measured in trace.devices:
            if measured.device not in found and measured.name is not None:
                notes.append(f"{trace.path}: {measured.name} is not in the catalogue of devices")
        assumed = {found[each.device].id for each in trace.devices if each.is_assumed}
        if assumed:
            notes.append(
                f"{trace.path}: names no device; {', '.join(sorted(assumed))} is assumed, "
                "--device ID chooses another"
            )

    def find(operation: Operation) -> Device | None:
        devices = by_file.get(operation.position.path, {})
        device = devices.get(operation.device)
        if device is None and len({each.id for each in devices.values()}) == 1:
            return next(iter(devices.values()))
        return device

    return find


def _device(name: str) -> Device:
    try:
        return load_device(name)
    except DeviceError as error:
        raise UsageError(str(error)) from error


def _with_active_experts(operation: Operation, active_experts: int | None) -> Operation:
    if active_experts is None or "SparseMatmul" not in operation.name:
        return operation
    work = work_of(
        operation.name,
        operation.attributes.get("ATTRIBUTES", ""),
        operation.attributes.get("MATH FIDELITY", ""),
        operation.attributes.get("DEVICE ARCH"),
        operation.inputs,
        operation.outputs,
        active_experts,
    )
    description = {"description": work.description} if work.description else {}
    return replace(
        operation,
        flop=work.flop,
        dram_bytes=work.dram_bytes,
        attributes={**operation.attributes, **description},
    )


def _merging_notes(merged: merging.Merged) -> Iterator[str]:
    yield (
        f"{merged.devices} devices are merged: the longest of each operation, the mean of "
        "collectives; --no-merge-devices keeps them apart"
    )
    if merged.incomplete:
        count = labels.count(merged.incomplete, "operation")
        yield f"{count} of the merged ones not on all devices"


def _with_signposts(
    rows: Sequence[Performance], begins: Sequence[int], sections: Iterable[Section]
) -> Iterator[Line]:
    """The rows with the signposts before each; `begins` counts operations of all sections."""
    posts: list[tuple[int, Signpost]] = []
    offset = 0
    for section in sections:
        posts += [(offset + before, post) for before, post in section.signposts]
        offset += len(section.operations)
    number = 0
    for row, begin in zip(rows, begins, strict=True):
        while number < len(posts) and posts[number][0] <= begin:
            yield posts[number][1]
            number += 1
        yield row
    for _, post in posts[number:]:
        yield post


def _in_range(lines: Sequence[Line], id_range: str | None) -> list[Line]:
    if id_range is None:
        return list(lines)
    selected = selection(0.0, id_range.replace(",", ""))

    def is_selected(line: Line) -> bool:
        number = line.number if isinstance(line, Performance) else line.position.row
        return selected.first <= number and (selected.last is None or number <= selected.last)

    found = [line for line in lines if is_selected(line)]
    first = next((line for line in found if isinstance(line, Performance)), None)
    # What was before it is not in the range.
    return [
        replace(line, operation=replace(line.operation, gap_s=None))
        if isinstance(line, Performance) and line is first
        else line
        for line in found
    ]


def _renew_shares(lines: Sequence[Line]) -> list[Line]:
    rows = iter(with_shares(line for line in lines if isinstance(line, Performance)))
    return [next(rows) if isinstance(line, Performance) else line for line in lines]


def _without_small(
    lines: Sequence[Line], min_percentage: float | None, notes: list[str]
) -> list[Line]:
    if not min_percentage:
        return list(lines)
    small = [
        line
        for line in lines
        if isinstance(line, Performance)
        and line.share is not None
        and line.share < min_percentage / 100
    ]
    if small:
        share = labels.percent(sum(line.share or 0.0 for line in small))
        count = labels.count(len(small), "operation")
        notes.append(f"{count} below {min_percentage:g}% left out, with {share} of the time")
    hidden = set(map(id, small))
    return [line for line in lines if id(line) not in hidden]
