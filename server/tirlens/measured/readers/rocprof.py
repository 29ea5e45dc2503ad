"""The CSV files of ``rocprofv3``, and those of rocprof and rocprofv2 that have the same columns.

Source: ROCm, ``rocprofiler-sdk``, "Using rocprofv3", output file fields; ``rocprofiler``,
"rocprof", output.  Names of columns differ between versions in case and underscores only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from tirlens.measured.reading.csv_rows import csv_rows, fields_of
from tirlens.measured.reading.numbers import number_of, seconds_of
from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import (
    MeasuredDevice,
    Operation,
    OperationKind,
    Position,
    Problem,
    Record,
    Signpost,
)

_NS = 1e-9
_HOUR_NS = 3_600_000_000_000
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")
# The symbol of a kernel's descriptor, as rocprof before version 3 names kernels.
_DESCRIPTOR = re.compile(r"( \[clone \.kd\]|\.kd)$")
# Sums of ``domain_stats``: of kinds of records, not of operations.
_DOMAINS = re.compile(r"(KERNEL_DISPATCH|MEMORY_COPY|MARKER|RCCL|(HIP|HSA|ROC\w+)_\w*API)(_EXT)?$")
_HOST_CALL = re.compile(
    r"(__)?hip[A-Z]\w*$|hsa_\w+$|roc(Dec|Jpeg|tx)\w+$|[nr]ccl(?!\w*Kernel)[A-Z]\w*$"
)
_COPY = re.compile(r"MEMORY_COPY_|CopyHostToDevice|CopyDeviceTo")
_COLLECTIVE = re.compile(r"[nr]ccl\w*Kernel")

# Columns of executions that are no counters.
_KNOWN_COLUMNS = """
    index kind guid kernelname kernelid agentid gpuid queueid queueindex streamid pid processid
    tid threadid dispatchid correlationid grd wgr lds scr vgpr archvgpr accumvgpr sgpr wavesize
    fbar sig obj dispatchns beginns endns completens durationns starttimestamp endtimestamp
    privatesegmentsize groupsegmentsize ldsblocksize scratchsize vgprcount accumvgprcount
    sgprcount workgroupsize gridsize workgroupsizex workgroupsizey workgroupsizez gridsizex
    gridsizey gridsizez countername countervalue
"""
_KNOWN = frozenset(_KNOWN_COLUMNS.split())

_Row: TypeAlias = Mapping[str, str]
_RecordOf: TypeAlias = Callable[[list[str], Position], Record]
"""What the fields of a row, as many as there are columns, say."""


@dataclass(frozen=True)
class _Table:
    """A kind of file: its name, the columns that it has, and what a row says under a header."""

    name: str
    columns: frozenset[str]
    record_of: Callable[[list[str], list[str]], _RecordOf]

    @staticmethod
    def of(name: str, columns: str, record: Callable[[_Row, Position], Record]) -> _Table:
        """A kind of file of which a row is read by the names of its columns."""

        def record_of(columns: list[str], _: list[str]) -> _RecordOf:
            return lambda fields, position: record(
                dict(zip(columns, fields, strict=True)), position
            )

        return _Table(name, frozenset(columns.split()), record_of)

    @staticmethod
    def of_executions(name: str, columns: str) -> _Table:
        """A kind of file with an execution in a row: files of millions of rows."""

        def record_of(columns: list[str], names: list[str]) -> _RecordOf:
            return _Executions(columns, names).record

        return _Table(name, frozenset(columns.split()), record_of)


class Rocprof:
    """One record for each row; the counters of a dispatch, one a row, become one operation.

    Agents are named by their numbers, ``Agent 2`` as ``2``.  A call of the host has its whole time,
    which includes the calls that it makes in turn.
    """

    format_name = "CSV of rocprofv3 or rocprof"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the header has the columns of one of the files."""
        return _table_of(_columns(fields_of(trace.first_line))) is not None

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The records in the order of the rows."""
        with trace.text() as file:
            rows = csv_rows(trace, file)
            header = next(
                (row for row in rows if not isinstance(row, Problem) and any(row[1])), None
            )
            names = header[1] if header else []
            columns = _columns(names)
            table = _table_of(columns)
            if table is None:
                return
            record_of = table.record_of(columns, names)
            records = (
                row if isinstance(row, Problem) else _record(table, record_of, len(columns), row)
                for row in rows
                if isinstance(row, Problem) or any(row[1])
            )
            yield from _dispatches(records) if "countername" in columns else records


def _columns(names: Sequence[str]) -> list[str]:
    return [_NOT_ALPHANUMERIC.sub("", name.lower()) for name in names]


def _table_of(columns: Sequence[str]) -> _Table | None:
    return next((table for table in _TABLES if table.columns <= set(columns)), None)


def _record(
    table: _Table, record_of: _RecordOf, columns: int, source: tuple[Position, list[str]]
) -> Record:
    position, fields = source
    if len(fields) != columns:
        return Problem(position, f"{len(fields)} fields, but {columns} columns: the row is cut off")
    try:
        return record_of(fields, position)
    except ValueError as error:
        return Problem(position, f"{table.name}: {error}")


def _dispatches(records: Iterator[Record]) -> Iterator[Record]:
    """Successive rows with counters of one dispatch, as one operation."""
    pending: Operation | None = None
    for record in records:
        if not isinstance(record, Operation) or "counter" not in record.attributes:
            if pending is not None:
                yield pending
                pending = None
            yield record
            continue
        attributes = dict(record.attributes)
        attributes.pop("counter")
        counted = replace(record, attributes=attributes)
        is_same = pending is not None and attributes["dispatch"] == pending.attributes["dispatch"]
        if pending is not None and is_same:
            counters = {**pending.counters, **counted.counters}
            pending = replace(pending, counters=counters)
            continue
        if pending is not None:
            yield pending
        pending = counted
    if pending is not None:
        yield pending


class _Launch(NamedTuple):
    """What all executions of one launch configuration have in common."""

    name: str
    kind: OperationKind
    device: str | None
    stream: str | None
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    shared_bytes: int | None
    registers: int | None
    attributes: Mapping[str, str]


_LAUNCH_COLUMNS = (
    "kernelname", "agentid", "gpuid", "streamid", "queueid", "workgroupsizex", "workgroupsizey",
    "workgroupsizez", "gridsizex", "gridsizey", "gridsizez", "gridsize", "grd", "workgroupsize",
    "wgr", "ldsblocksize", "groupsegmentsize", "lds", "vgprcount", "archvgpr", "vgpr",
    "scratchsize", "privatesegmentsize", "scr",
)  # fmt: skip


@lru_cache(4096)
def _launch(cells: tuple[str, ...]) -> _Launch:
    """The launch of a row with these cells of `_LAUNCH_COLUMNS`."""
    row: dict[str, str] = dict(zip(_LAUNCH_COLUMNS, cells, strict=True))
    name = _DESCRIPTOR.sub("", row["kernelname"])
    block = _triple(row, "workgroupsize")
    threads = _triple(row, "gridsize")
    grid = None
    if block is not None and threads is not None:
        # rocprofv3 states grids in threads.
        x, y, z = (-(-count // size) for count, size in zip(threads, block, strict=True))
        grid = x, y, z
    attributes = {
        "threads": _first(row, "gridsize", "grd"),
        "threads of a block": _first(row, "workgroupsize", "wgr"),
        "scratch bytes of a thread": _first(row, "scratchsize", "privatesegmentsize", "scr"),
    }
    return _Launch(
        name,
        "collective" if _COLLECTIVE.match(name) else "kernel",
        _agent(_first(row, "agentid", "gpuid")),
        _first(row, "streamid", "queueid") or None,
        grid,
        block,
        _count(_first(row, "ldsblocksize", "groupsegmentsize", "lds")),
        _count(_first(row, "vgprcount", "archvgpr", "vgpr")),
        {label: value for label, value in attributes.items() if value},
    )


class _Executions:
    """Dispatches of kernels, with or without counters, by the places of the columns."""

    def __init__(self, columns: list[str], names: list[str]) -> None:
        # The last of several columns of one name counts.
        places = {column: place for place, column in enumerate(columns)}
        # A field behind the last one is empty.
        absent = len(columns)

        def at(column: str) -> int:
            return places.get(column, absent)

        self._launch_cells = itemgetter(*map(at, _LAUNCH_COLUMNS))
        self._begins = at("starttimestamp"), at("beginns")
        self._ends = at("endtimestamp"), at("endns")
        self._is_counter = "countername" in places and "countervalue" in places
        self._counter = at("countername"), at("countervalue")
        self._dispatch = at("agentid"), at("dispatchid")
        self._counters = [
            (names[place], column, place)
            for column, place in places.items()
            if column not in _KNOWN
        ]

    def record(self, fields: list[str], position: Position) -> Record:
        """The dispatch of a row."""
        fields.append("")
        launch = _launch(self._launch_cells(fields))
        begin = fields[self._begins[0]] or fields[self._begins[1]]
        end = fields[self._ends[0]] or fields[self._ends[1]]
        attributes, counters = launch.attributes, dict[str, float]()
        if self._is_counter:
            name, value = (fields[place] for place in self._counter)
            dispatch = "/".join(fields[place] for place in self._dispatch)
            attributes = {**attributes, "counter": name, "dispatch": dispatch}
            counters[name] = number_of(value)
        else:
            for label, column, place in self._counters:
                try:
                    counters[label] = number_of(fields[place])
                except ValueError:
                    attributes = {**attributes, column: fields[place]}
        return Operation(
            launch.name,
            position,
            kind=launch.kind,
            device=launch.device,
            stream=launch.stream,
            start_s=number_of(begin) * _NS if begin else None,
            time_s=_duration_s(begin, end) if begin and end else None,
            grid=launch.grid,
            block=launch.block,
            shared_bytes=launch.shared_bytes,
            registers=launch.registers,
            attributes=attributes,
            counters=counters,
        )


def _copy(row: _Row, position: Position) -> Record:
    source, target = _agent(row["sourceagentid"]), _agent(row["destinationagentid"])
    to_host = row["direction"].endswith("TO_HOST")
    return Operation(
        row["direction"],
        position,
        kind="copy",
        device=source if to_host else target,
        stream=row.get("streamid") or None,
        start_s=number_of(row["starttimestamp"]) * _NS,
        time_s=_duration_s(row["starttimestamp"], row["endtimestamp"]),
        attributes={"from": row["sourceagentid"], "to": row["destinationagentid"]},
    )


def _call(row: _Row, position: Position) -> Record:
    """A call of the host, or a mark or a range of ROCTx."""
    start_s = number_of(row["starttimestamp"]) * _NS
    time_s = _duration_s(row["starttimestamp"], row["endtimestamp"])
    if row["domain"].startswith("MARKER"):
        return Signpost(row["function"], position, start_s, start_s + time_s if time_s else None)
    return Operation(
        row["function"],
        position,
        kind="host",
        stream=row.get("threadid") or None,
        start_s=start_s,
        host_time_s=time_s,
        attributes={"domain": row["domain"]},
    )


def _summary(row: _Row, position: Position) -> Record:
    """All executions of a kernel, of a copy or of a call of the host."""
    name = _DESCRIPTOR.sub("", row["name"])
    if _DOMAINS.match(name):
        return Problem(position, f"{name}: a sum of several operations is not read")
    kind: OperationKind = "collective" if _COLLECTIVE.match(name) else "kernel"
    if _HOST_CALL.match(name):
        kind = "host"
    elif _COPY.match(name):
        kind = "copy"
    executions = _count(row["calls"])
    if not executions:
        raise ValueError(f"Calls: {row['calls'][:40]!r} is no number of executions")
    time_s = seconds_of(row["totaldurationns"], _NS)

    def optional_s(column: str) -> float | None:
        return seconds_of(row[column], _NS) if row.get(column) else None

    return Operation(
        name,
        position,
        kind=kind,
        time_s=None if kind == "host" else time_s,
        host_time_s=time_s if kind == "host" else None,
        executions=executions,
        min_s=optional_s("minns"),
        max_s=optional_s("maxns"),
        deviation_s=optional_s("stddev"),
    )


def _device(row: _Row, position: Position) -> Record:
    if row["agenttype"] != "GPU":
        return MeasuredDevice(row["nodeid"], row.get("productname") or None)
    return MeasuredDevice(
        row["nodeid"],
        row.get("productname") or None,
        architecture=row.get("name") or None,
        cores=_count(row["cucount"]),
    )


_TABLES = (
    _Table.of_executions("kernel trace", "kernelname starttimestamp endtimestamp"),
    _Table.of_executions("counter collection", "kernelname countername countervalue"),
    _Table.of_executions("results", "kernelname gpuid grd wgr"),
    _Table.of(
        "memory copy trace",
        "direction sourceagentid destinationagentid starttimestamp endtimestamp",
        _copy,
    ),
    _Table.of("API trace", "domain function correlationid starttimestamp endtimestamp", _call),
    _Table.of("statistics", "name calls totaldurationns averagens percentage", _summary),
    _Table.of("agent info", "nodeid agenttype cucount", _device),
)


def _first(row: _Row, *columns: str) -> str:
    """The value of the first of several columns that the row has."""
    return next((row[column] for column in columns if row.get(column)), "")


def _agent(name: str) -> str | None:
    return name.removeprefix("Agent ").strip() or None


def _duration_s(begin: str, end: str) -> float:
    """The difference of two time stamps of nanoseconds, exact: they have 16 digits and more."""
    for stamp in (begin, end):
        if not stamp.strip().isdecimal() or len(stamp) > 20:
            number_of(stamp)
            raise ValueError(f"{stamp[:40]!r} is no time stamp of nanoseconds")
    time_ns = int(end) - int(begin)
    if time_ns < 0:
        raise ValueError(f"the end {end} is before the begin {begin}")
    # A longer one is an error that `seconds_of` words.
    return time_ns * _NS if time_ns < _HOUR_NS else seconds_of(str(time_ns), _NS)


def _count(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() and len(text) < 19 else None


def _triple(row: _Row, column: str) -> tuple[int, int, int] | None:
    sizes = [_count(row.get(column + axis, "")) for axis in "xyz"]
    x, y, z = sizes
    return (x, y, z) if x and y and z else None


READER = Rocprof()
