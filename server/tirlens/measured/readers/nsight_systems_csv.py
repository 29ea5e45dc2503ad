"""CSV of ``nsys stats``: one report, or several one after the other.

Source: NVIDIA, "Nsight Systems Analysis Guide", section "Statistical Reports Shipped With Nsight
Systems".  Versions differ in the names of reports (``gpukernsum`` became ``cuda_gpu_kern_sum``) and
columns, so that a report is recognised by the columns that it must have.  Times are in the unit
that the header names (``--timeunit``), nanoseconds where it names none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from tirlens.measured.reading.csv_rows import csv_rows, fields_of, lines_of
from tirlens.measured.reading.cuda_names import device_of, kind_of_kernel
from tirlens.measured.reading.numbers import number_of, seconds_of
from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import Operation, OperationKind, Position, Problem, Record, Signpost

_COLUMN = re.compile(r"\s*(.*?)\s*(?:\(([^()]*)\))?\s*$")
_PROCESSING = re.compile(r"Processing \[(.*?)\] with \[")
_UNITS_S = {
    "ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0,
    "sec": 1.0,
}  # fmt: skip
# Names before version 2022.1, and those of one report for another's.
_RENAMED = {
    "Average": "Avg", "Minimum": "Min", "Maximum": "Max", "Operations": "Count",
    "Calls": "Num Calls", "CorrID": "CorrId",
}  # fmt: skip
_DELIMITERS = ",\t;"
# Of the numbers that are whole without a doubt.
_DIGITS = 18
# Of CUDA's own operations, in reports that list them with kernels.
_COPY = re.compile(r"\[CUDA ", re.IGNORECASE)

Subject: TypeAlias = Literal["kernel", "copy", "host", "range"]


@dataclass(frozen=True)
class _Header:
    """The columns of a report: where they are, and their units, which may be empty."""

    indices: Mapping[str, int]
    units: Mapping[str, str]
    usual_unit_s: float
    columns: int


@dataclass(frozen=True)
class _Row:
    """A row of a report; its values raise `ValueError` with the name of the column."""

    cells: list[str]
    header: _Header
    position: Position

    def text(self, name: str) -> str | None:
        """What the cell says; None if it is empty or there is no such column."""
        index = self.header.indices.get(name)
        return None if index is None else self.cells[index].strip() or None

    def seconds(self, name: str) -> float | None:
        """A duration.  What a coarse unit rounds to zero is not known."""
        text = self.text(name)
        if text is None:
            return None
        unit_s = self._unit_s(name)
        try:
            value = seconds_of(text, unit_s)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return None if value == 0 and unit_s > 1e-9 else value

    def moment(self, name: str) -> float | None:
        """A time stamp, which is negative before the trace begins."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return number_of(text) * self._unit_s(name)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def count(self, name: str) -> int | None:
        """A whole number of things."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return _whole(text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def dimensions(self, *names: str) -> tuple[int, int, int] | None:
        """Blocks or threads, in three columns or in one with three numbers."""
        words = " ".join([self.text(name) or "" for name in names])
        try:
            return _dimensions(words)
        except ValueError as error:
            raise ValueError(f"{names[0]}: {error}") from None

    def attributes(self, *names: str) -> dict[str, str]:
        """The cells that are not empty, with their units, by their names."""
        return {
            name: f"{text} {unit}" if (unit := self.header.units[name]) else text
            for name in names
            if (text := self.text(name))
        }

    def _unit_s(self, name: str) -> float:
        """The unit of a time, which early versions name at the total alone."""
        return _UNITS_S.get(self.header.units[name], self.header.usual_unit_s)


@lru_cache(4096)
def _dimensions(text: str) -> tuple[int, int, int] | None:
    words = text.split()
    if not words:
        return None
    x, y, z = map(_whole, words)
    return x, y, z


def _whole(text: str) -> int:
    if len(text) < _DIGITS and text.isdecimal():
        return int(text)
    value = number_of(text)
    if value < 0 or value != int(value):
        raise ValueError(f"{text!r} is no count")
    return int(value)


def _operation_kind(name: str) -> OperationKind:
    return "copy" if _COPY.match(name) else kind_of_kernel(name)


def _execution(row: _Row) -> Record:
    """``cuda_gpu_trace``: one kernel, copy or fill."""
    name = row.text("Name") or ""
    return Operation(
        name,
        row.position,
        kind=_operation_kind(name),
        device=row.text("Device"),
        stream=row.text("Strm"),
        start_s=row.moment("Start"),
        time_s=row.seconds("Duration"),
        grid=row.dimensions("GrdX", "GrdY", "GrdZ"),
        block=row.dimensions("BlkX", "BlkY", "BlkZ"),
        registers=row.count("Reg/Trd"),
        attributes=row.attributes(
            "StcSMem", "DymSMem", "Bytes", "Throughput", "SrcMemKd", "DstMemKd", "Ctx", "GreenCtx"
        ),
    )


def _launch_and_execution(row: _Row) -> Record:
    """``cuda_kern_exec_trace``: one kernel with its launch."""
    name = row.text("Kernel Name") or ""
    return Operation(
        name,
        row.position,
        kind=kind_of_kernel(name),
        device=row.text("DevId"),
        start_s=row.moment("Kernel Start"),
        launched_s=row.moment("API Start"),
        time_s=row.seconds("Kernel Dur"),
        host_time_s=row.seconds("API Dur"),
        grid=row.dimensions("GridXYZ"),
        block=row.dimensions("BlockXYZ"),
        attributes=row.attributes("API Function", "PID", "TID"),
    )


def _launches_and_executions(row: _Row) -> Record:
    """``cuda_kern_exec_sum``: the sum of kernels with their launches, as means."""
    name = row.text("Kernel Name") or ""
    executions = row.count("Count")
    mean_s, launch_s = row.seconds("KAvg"), row.seconds("AAvg")
    if executions is None:
        raise ValueError("Count: is empty")
    return Operation(
        name,
        row.position,
        kind=kind_of_kernel(name),
        device=row.text("DevId"),
        time_s=None if mean_s is None else mean_s * executions,
        host_time_s=None if launch_s is None else launch_s * executions,
        executions=executions,
        min_s=row.seconds("KMin"),
        max_s=row.seconds("KMax"),
        deviation_s=row.seconds("KStdDev"),
        attributes=row.attributes("API Name", "PID", "TID"),
    )


def _summary(row: _Row) -> Operation:
    """The sum of all executions of a kernel, copies of a kind, or calls of a function."""
    name = row.text("Name") or row.text("Operation") or row.text("Range") or ""
    executions = row.count("Instances") or row.count("Count") or row.count("Num Calls")
    if not executions:
        raise ValueError("the count of executions is empty")
    return Operation(
        name,
        row.position,
        kind=_operation_kind(name),
        time_s=row.seconds("Total Time"),
        executions=executions,
        min_s=row.seconds("Min"),
        max_s=row.seconds("Max"),
        deviation_s=row.seconds("StdDev"),
        grid=row.dimensions("GridXYZ"),
        block=row.dimensions("BlockXYZ"),
        attributes=row.attributes("Med", "Style"),
    )


def _host_summary(row: _Row) -> Record:
    """The sum of a function's calls, or of ranges of the program, on the host."""
    summary = _summary(row)
    return Operation(
        summary.name,
        row.position,
        kind="host",
        host_time_s=summary.time_s,
        executions=summary.executions,
        min_s=summary.min_s,
        max_s=summary.max_s,
        deviation_s=summary.deviation_s,
        attributes=summary.attributes,
    )


def _mixed_summary(row: _Row) -> Record:
    """``cuda_api_gpu_sum``: the host's calls between the sums of kernels and copies."""
    return _host_summary(row) if row.text("Category") == "CUDA_API" else _summary(row)


def _call(row: _Row) -> Record:
    """``cuda_api_trace``: a call of the host."""
    return Operation(
        row.text("Name") or "",
        row.position,
        kind="host",
        start_s=row.moment("Start"),
        host_time_s=row.seconds("Duration"),
        attributes=row.attributes("Pid", "Tid", "Thread Name"),
    )


def _range(row: _Row) -> Record:
    """``nvtx_pushpop_trace``: a range of the program."""
    return Signpost(
        _range_name(row.text("Name")), row.position, row.moment("Start"), row.moment("End")
    )


def _projected_range(row: _Row) -> Record:
    """``nvtx_gpu_proj_trace``: from the first to the last operation that a range launched."""
    start_s, time_s = row.moment("Projected Start"), row.seconds("Projected Duration")
    end_s = None if start_s is None or time_s is None else start_s + time_s
    return Signpost(_range_name(row.text("Name")), row.position, start_s, end_s)


def _range_name(name: str | None) -> str:
    """The name without the colon of the default domain."""
    return (name or "").removeprefix(":")


@dataclass(frozen=True)
class _Report:
    """A report: its columns, what it lists, and how much it says of it beside other reports."""

    required: frozenset[str]
    subjects: frozenset[Subject]
    detail: int
    record: Callable[[_Row], Record] | None
    remark: str = ""

    @staticmethod
    def of(
        columns: str,
        subjects: Iterable[Subject],
        detail: int,
        record: Callable[[_Row], Record] | None,
        remark: str = "",
    ) -> _Report:
        return _Report(frozenset(columns.split(", ")), frozenset(subjects), detail, record, remark)


# The first whose columns are all there is a header's report.
_REPORTS = (
    _Report.of("Start, Duration, CorrId, GrdX, Name", ("kernel", "copy"), 5, _execution),
    _Report.of("Kernel Start, Kernel Dur, Kernel Name", ("kernel",), 4, _launch_and_execution),
    _Report.of("Count, KAvg, Kernel Name", ("kernel",), 1, _launches_and_executions),
    _Report.of(
        "NVTX Range, Kern Inst, Kernel Name", (), 0, None,
        "a kernel is listed for each of the ranges around it, so that the times do not add up",
    ),
    _Report.of("Projected Start, Projected Duration, Name", ("range",), 3, _projected_range),
    _Report.of("Start, End, Duration, Name, RangeId", ("range",), 2, _range),
    _Report.of(
        "Total Proj Time, Range Instances, Range", (), 0, None,
        "the times of ranges on the device are those of kernels that other reports list",
    ),
    _Report.of("Total Time, Instances, Range", ("range",), 1, _host_summary),
    _Report.of(
        "Total Time, Instances, Category, Operation", ("kernel", "copy", "host"), 0, _mixed_summary
    ),
    _Report.of("Total Time, Instances, GridXYZ, Name", ("kernel",), 3, _summary),
    _Report.of("Total Time, Instances, Name", ("kernel",), 2, _summary),
    _Report.of("Total Time, Num Calls, Name", ("host",), 1, _host_summary),
    _Report.of("Total Time, Count, Operation", ("copy",), 2, _summary),
    _Report.of("Total, Count, Operation", (), 0, None, "the bytes of copies have no times"),
    _Report.of("Virtual Address, HtoD Migration Size", (), 0, None, "migrations have no times"),
    _Report.of("Total HtoD Migration Size", (), 0, None, "migrations have no times"),
    _Report.of("Start, Duration, Name, Result, CorrId", ("host",), 2, _call),
    # Columns of `cuda_gpu_trace` that a script has kept.
    _Report.of("Start, Duration, CorrId, Name", ("kernel", "copy"), 4, _execution),
)  # fmt: skip


def _report_of(fields: list[str]) -> tuple[_Report, _Header] | None:
    """The report that a row is the header of."""
    if not 3 <= len(fields) <= 40:
        return None
    columns = [_COLUMN.fullmatch(field) for field in fields]
    names = [column[1] if column else "" for column in columns]
    names = [_RENAMED.get(name, name) for name in names]
    report = next((report for report in _REPORTS if report.required <= set(names)), None)
    if report is None:
        return None
    units = [column[2] or "" if column else "" for column in columns]
    usual_s = next((_UNITS_S[unit] for unit in units if unit in _UNITS_S), 1e-9)
    indices = {name: index for index, name in enumerate(names)}
    return report, _Header(indices, dict(zip(names, units, strict=True)), usual_s, len(names))


def _subject_of(record: Record) -> Subject:
    if not isinstance(record, Operation):
        return "range"
    return "kernel" if record.kind == "collective" else record.kind


@dataclass(frozen=True)
class _Plan:
    """Which reports of a file are read, by the lines of their headers.

    Attributes
    ----------
    chosen
        What is read of each: the most detailed report of each subject of each input.
    repeated
        Those that may be of other inputs, which the file does not name.
    """

    delimiter: str
    chosen: Mapping[int, Set[Subject]]
    repeated: Set[int]


def _plan(trace: TraceFile) -> _Plan:
    """The plan, by the headers of the whole file."""
    found: dict[int, tuple[_Report, str]] = {}
    source, delimiter = "", ""
    with trace.text() as file:
        for number, line in enumerate(lines_of(file), 1):
            if (processing := _PROCESSING.match(line)) is not None:
                source = processing[1]
            elif line[:1].isalpha() or line[:1] == '"':
                for candidate in delimiter or _DELIMITERS:
                    if header := _report_of(fields_of(line, candidate)):
                        found[number] = header[0], source
                        delimiter = candidate
                        break
    best: dict[tuple[str, Subject], int] = {}
    for number, (report, source) in found.items():
        for subject in report.subjects:
            other = best.get((source, subject))
            if other is None or found[other][0].detail < report.detail:
                best[source, subject] = number
    chosen = {number: set[Subject]() for number in found}
    for (_, subject), number in best.items():
        chosen[number].add(subject)
    repeated = {
        number
        for number, (report, source) in found.items()
        if not source and report.subjects and not chosen[number]
    }
    return _Plan(delimiter or _DELIMITERS[0], chosen, repeated)


class NsightSystemsCsv:
    """Executions of ``cuda_gpu_trace``, or the sums of ``cuda_gpu_kern_sum`` and its relatives.

    Of several reports of the same operations, the one that says most is read.  Reports without
    operations, such as the bytes of copies, are not.
    """

    format_name = "CSV of nsys stats"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether one of the first lines is the header of a report."""
        lines = trace.head_text.splitlines()
        return any(
            _report_of(fields_of(line, delimiter)) is not None
            for line in lines[:200]
            for delimiter in _DELIMITERS
            if delimiter in line
        )

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """An operation or a signpost for each row, and a device before its first operation."""
        plan = _plan(trace)
        devices: set[str] = set()
        unread: list[Problem] = []
        is_empty = True
        current: tuple[_Report, _Header, Set[Subject]] | None = None
        with trace.text() as file:
            for item in csv_rows(trace, file, plan.delimiter):
                if isinstance(item, Problem):
                    yield item
                    continue
                position, cells = item
                if position.row in plan.chosen and (header := _report_of(cells)) is not None:
                    current = *header, plan.chosen[position.row]
                    if position.row in plan.repeated:
                        yield Problem(position, "a report of the same operations is not read")
                    elif not current[2]:
                        unread.append(Problem(position, f"is not read: {header[0].remark}"))
                elif len(cells) <= 1:
                    current = None
                elif current is None:
                    if not any(map(_is_number, cells)) and len(cells) > 3:
                        yield Problem(position, "a report that is not read: its columns are others")
                elif current[2]:
                    is_empty = False
                    yield from _records(cells, position, *current, devices)
        if is_empty:
            yield from unread


def _records(
    cells: list[str],
    position: Position,
    report: _Report,
    header: _Header,
    subjects: Set[Subject],
    devices: set[str],
) -> Iterator[Record]:
    """What a row says."""
    if len(cells) != header.columns:
        yield Problem(position, f"has {len(cells)} columns, its header {header.columns}")
        return
    assert report.record is not None
    try:
        record = report.record(_Row(cells, header, position))
    except ValueError as error:
        yield Problem(position, str(error))
        return
    if _subject_of(record) not in subjects:
        return
    if isinstance(record, Operation) and record.device and record.device not in devices:
        devices.add(record.device)
        yield device_of(record.device)
    yield record


def _is_number(text: str) -> bool:
    try:
        number_of(text)
    except ValueError:
        return False
    return True


READER = NsightSystemsCsv()
