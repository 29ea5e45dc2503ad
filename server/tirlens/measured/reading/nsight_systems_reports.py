"""The reports of ``nsys stats``: their columns, and the record of one of their rows.

Source: NVIDIA, "Nsight Systems Analysis Guide", section "Statistical Reports Shipped With Nsight
Systems".  Versions differ in the names of reports (``gpukernsum`` became ``cuda_gpu_kern_sum``) and
columns, so that a report is recognised by the columns that it must have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tirlens.measured.reading.cuda_names import kind_of_kernel
from tirlens.measured.reading.nsight_systems_row import Header, Row, column_names
from tirlens.measured.records import Operation, OperationKind, Record, Signpost

# Of CUDA's own operations, in reports that list them with kernels.
_COPY = re.compile(r"\[CUDA ", re.IGNORECASE)

Subject: TypeAlias = Literal["kernel", "copy", "host", "range"]


@dataclass(frozen=True)
class Report:
    """A kind of report.

    Attributes
    ----------
    required
        The columns that it must have.
    subjects
        What it lists.
    detail
        How much it says of its subjects: of two reports of one subject, the greater is read.
    record
        Reads a row; None if the report has no operations with times, which `remark` explains.
    """

    required: frozenset[str]
    subjects: frozenset[Subject]
    detail: int
    record: Callable[[Row], Record] | None
    remark: str = ""

    @staticmethod
    def of(
        columns: str,
        subjects: Iterable[Subject],
        detail: int,
        record: Callable[[Row], Record] | None,
        remark: str = "",
    ) -> Report:
        return Report(frozenset(columns.split(", ")), frozenset(subjects), detail, record, remark)


def _operation_kind(name: str) -> OperationKind:
    return "copy" if _COPY.match(name) else kind_of_kernel(name)


def _execution(row: Row) -> Record:
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


def _launch_and_execution(row: Row) -> Record:
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


def _launches_and_executions(row: Row) -> Record:
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


def _summary(row: Row) -> Operation:
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


def _host_summary(row: Row) -> Record:
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


def _mixed_summary(row: Row) -> Record:
    """``cuda_api_gpu_sum``: the host's calls between the sums of kernels and copies."""
    return _host_summary(row) if row.text("Category") == "CUDA_API" else _summary(row)


def _call(row: Row) -> Record:
    """``cuda_api_trace``: a call of the host."""
    return Operation(
        row.text("Name") or "",
        row.position,
        kind="host",
        start_s=row.moment("Start"),
        host_time_s=row.seconds("Duration"),
        attributes=row.attributes("Pid", "Tid", "Thread Name"),
    )


def _range(row: Row) -> Record:
    """``nvtx_pushpop_trace``: a range of the program."""
    return Signpost(
        _range_name(row.text("Name")), row.position, row.moment("Start"), row.moment("End")
    )


def _projected_range(row: Row) -> Record:
    """``nvtx_gpu_proj_trace``: from the first to the last operation that a range launched."""
    start_s, time_s = row.moment("Projected Start"), row.seconds("Projected Duration")
    end_s = None if start_s is None or time_s is None else start_s + time_s
    return Signpost(_range_name(row.text("Name")), row.position, start_s, end_s)


def _range_name(name: str | None) -> str:
    """The name without the colon of the default domain."""
    return (name or "").removeprefix(":")


# The first whose columns are all there is a header's report.
_REPORTS = (
    Report.of("Start, Duration, CorrId, GrdX, Name", ("kernel", "copy"), 5, _execution),
    Report.of("Kernel Start, Kernel Dur, Kernel Name", ("kernel",), 4, _launch_and_execution),
    Report.of("Count, KAvg, Kernel Name", ("kernel",), 1, _launches_and_executions),
    Report.of(
        "NVTX Range, Kern Inst, Kernel Name", (), 0, None,
        "a kernel is listed for each of the ranges around it, so that the times do not add up",
    ),
    Report.of("Projected Start, Projected Duration, Name", ("range",), 3, _projected_range),
    Report.of("Start, End, Duration, Name, RangeId", ("range",), 2, _range),
    Report.of(
        "Total Proj Time, Range Instances, Range", (), 0, None,
        "the times of ranges on the device are those of kernels that other reports list",
    ),
    Report.of("Total Time, Instances, Range", ("range",), 1, _host_summary),
    Report.of(
        "Total Time, Instances, Category, Operation", ("kernel", "copy", "host"), 0, _mixed_summary
    ),
    Report.of("Total Time, Instances, GridXYZ, Name", ("kernel",), 3, _summary),
    Report.of("Total Time, Instances, Name", ("kernel",), 2, _summary),
    Report.of("Total Time, Num Calls, Name", ("host",), 1, _host_summary),
    Report.of("Total Time, Count, Operation", ("copy",), 2, _summary),
    Report.of("Total, Count, Operation", (), 0, None, "the bytes of copies have no times"),
    Report.of("Virtual Address, HtoD Migration Size", (), 0, None, "migrations have no times"),
    Report.of("Total HtoD Migration Size", (), 0, None, "migrations have no times"),
    Report.of("Start, Duration, Name, Result, CorrId", ("host",), 2, _call),
    # Columns of `cuda_gpu_trace` that a script has kept.
    Report.of("Start, Duration, CorrId, Name", ("kernel", "copy"), 4, _execution),
)  # fmt: skip


def report_of(fields: list[str]) -> tuple[Report, Header] | None:
    """The report that a row is the header of, and the header."""
    if not 3 <= len(fields) <= 40:
        return None
    names = set(column_names(fields))
    report = next((report for report in _REPORTS if report.required <= names), None)
    return None if report is None else (report, Header.of(fields))


def subject_of(record: Record) -> Subject:
    """What a row is of, beside other rows of its report."""
    if not isinstance(record, Operation):
        return "range"
    return "kernel" if record.kind == "collective" else record.kind
