"""The database that ``nsys export --type sqlite`` writes.

Source: NVIDIA, "Nsight Systems Exporter", section "SQLite Schema Reference": times are nanoseconds
since the begin of the session, a ``globalPid`` is a ``globalTid`` without its lower 24 bits, and a
table exists only where there are events for it.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from typing import TypeAlias
from urllib.parse import quote

from tirlens.measured.reading.cuda_names import kind_of_kernel
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import (
    MeasuredDevice,
    Operation,
    OperationKind,
    Position,
    Problem,
    Record,
    Signpost,
)

_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_GPUS = "TARGET_INFO_GPU"
_CUDA_DEVICES = "TARGET_INFO_CUDA_DEVICE"
_RANGES = "NVTX_EVENTS"

# The columns that are read, beside `start` and `end`.  Versions lack some of them.
_LAUNCHED = ("deviceId", "streamId", "correlationId", "globalPid")
_KERNEL = (
    "demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY",
    "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
    "localMemoryPerThread", "graphNodeId",
)  # fmt: skip
_OPERATIONS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": _LAUNCHED + _KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": (*_LAUNCHED, "bytes", "copyKind", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_MEMSET": (*_LAUNCHED, "bytes", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (*_LAUNCHED, "graphId", "graphExecId"),
}
# Without these, a figure of few traces is not known.
_SELDOM = {"mangledName", "localMemoryPerThread", "graphNodeId"}
_RANGE = ("eventType", "text", "textId", "domainId", "globalTid")

# ENUM_NSYS_EVENT_TYPE: marks, push and pop, start and end, of NVTX and of text imported as such.
_MARKS_AND_RANGES = (34, 59, 60, 65, 70, 71)
_DOMAIN = 75
# ENUM_CUDA_MEMCPY_OPER, a table that versions before 2022.2 do not write.
_COPY_KINDS = (
    "Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host",
    "Array-to-Array", "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host",
    "Peer-to-Peer", "Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device",
)  # fmt: skip

# Time stamps beyond 11 days are of a clock and not of a session.
_LONGEST_SESSION_NS = 10**15
_NAME_CHARACTERS = 1 << 16
_NAMES_IN_MEMORY = 1024
_DEVICES = 4096
_ROWS_PER_PROGRESS = 10_000

_WHOLE = frozenset({int, type(None)})
_NO_WORDS: Mapping[str, str] = {}
_NO_COUNTERS: Mapping[str, float] = {}

Row: TypeAlias = sqlite3.Row


class NsightSystemsSqlite:
    """Kernels, copies, fills and graphs with their launches by the host, and NVTX as signposts."""

    format_name = "database of nsys export --type sqlite"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether it is a database with the strings of an export and a table of its events."""
        if not trace.head.startswith(b"SQLite format 3\0"):
            return False
        if trace.is_compressed:
            # Of other databases there are no readers.
            return b"CUPTI_ACTIVITY_KIND" in trace.head or b"StringIds" in trace.head
        try:
            with _database(trace) as database:
                tables = _tables(database)
        except TraceError:
            return False
        known = {"EXPORT_META_DATA", "META_DATA_EXPORT", _GPUS, _RANGES, *_OPERATIONS}
        return "StringIds" in tables and not known.isdisjoint(tables)

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The devices, then operations and signposts in the order of their begin."""
        with _database(trace) as database:
            yield from _Export(trace, database).records()


@contextmanager
def _database(trace: TraceFile) -> Generator[sqlite3.Connection]:
    """The database, which is not written, and of whose schema no function is evaluated."""
    if trace.is_compressed:
        raise TraceError(f"{trace.path}: SQLite reads no compressed file: expand it with gunzip")
    uri = f"file:{quote(str(trace.path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = partial(str, encoding="utf-8", errors="replace")
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            yield database
    except (sqlite3.Error, UnicodeError) as error:
        raise TraceError(f"{trace.path}: cannot be read as a database: {error}") from error


def _tables(database: sqlite3.Connection) -> frozenset[str]:
    """The names of tables; views and virtual tables, which compute, are none."""
    rows = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 LIMIT 10000"
    )
    return frozenset(str(row[0]) for row in rows)


class _Export:
    """An open database."""

    def __init__(self, trace: TraceFile, database: sqlite3.Connection) -> None:
        self._trace = trace
        self._path = str(trace.path)
        self._database = database
        self._columns = {table: self._columns_of(table) for table in _tables(database)}
        self._string = lru_cache(_NAMES_IN_MEMORY)(self._read_string)
        self._names = lru_cache(_NAMES_IN_MEMORY)(self._read_names)
        self._gpus = dict(self._read_gpus())
        self._device = lru_cache(_DEVICES)(self._read_device)
        self._domains = dict(self._read_domains())
        self._origin_ns = 0

    def records(self) -> Iterator[Record]:
        """The devices, then all else."""
        yield from self._remarks()
        yield from self._gpus.values()
        self._write_launches()
        read: dict[str, Callable[[Row], Record]] = {
            "CUPTI_ACTIVITY_KIND_KERNEL": self._kernel,
            "CUPTI_ACTIVITY_KIND_MEMCPY": self._copy,
            "CUPTI_ACTIVITY_KIND_MEMSET": self._fill,
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": self._graph,
            _RANGES: self._signpost,
        }
        tables = [table for table in read if {"start", "end"} <= self._columns.get(table, set())]
        rows_total = max(1, sum(map(self._rows_at_most, tables)))
        rows = heapq.merge(*map(self._rows, tables), key=lambda item: item[0])
        for number, (start_ns, table, row) in enumerate(rows, 1):
            if number == 1 and start_ns > _LONGEST_SESSION_NS:
                self._origin_ns = start_ns
            if number % _ROWS_PER_PROGRESS == 0:
                done = min(number, rows_total) * self._trace.size_bytes // rows_total
                self._trace.progress(done, self._trace.size_bytes)
            try:
                yield read[table](row)
            except ValueError as error:
                yield Problem(self._position(row), f"{table}, row {row['row']}: {error}")
        self._trace.progress(self._trace.size_bytes, self._trace.size_bytes)

    # What the schema of this version lacks.

    def _columns_of(self, table: str) -> set[str]:
        rows = self._database.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return {str(row[0]) for row in rows}

    def _remarks(self) -> Iterator[Problem]:
        """What cannot be known without a table or a column."""
        position = Position(str(self._trace.path), 1)
        operations = [table for table in _OPERATIONS if table in self._columns]
        if not operations:
            yield Problem(position, "has no kernels, copies or graphs (nsys profile --trace=cuda)")
        elif not {"start", "end", "correlationId", "globalTid"} <= self._columns.get(_CALLS, set()):
            yield Problem(position, f"has no {_CALLS}: when the host launched is not known")
        for table, wanted in (*_OPERATIONS.items(), (_RANGES, _RANGE)):
            columns = self._columns.get(table)
            if columns is None:
                continue
            missing = [
                name
                for name in ("start", "end", *wanted)
                if name not in columns and name not in _SELDOM
            ]
            if missing:
                yield Problem(position, f"{table} has no {', '.join(missing)}")

    # Rows.

    def _rows_at_most(self, table: str) -> int:
        return int(self._database.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)

    def _rows(self, table: str) -> Iterator[tuple[int, str, Row]]:
        """The rows of a table by their begin, each once; SQLite sorts them in files."""
        has = self._columns[table]
        wanted = _OPERATIONS.get(table, _RANGE)
        if table in _OPERATIONS:
            wanted = tuple(dict.fromkeys((*wanted, "graphNodeId", "graphExecId")))
        columns = ", ".join(
            f"event.{name}" if name in has else f"NULL AS {name}" for name in wanted
        )
        select = f"SELECT event.rowid AS row, event.start, event.end, {columns}"
        source = f" FROM {table} AS event"
        if table in _OPERATIONS:
            select += ", launch.start AS call_start, launch.end AS call_end"
            if {"correlationId", "globalPid"} <= has:
                source += (
                    " LEFT JOIN temp.launch ON launch.correlation = event.correlationId"
                    " AND launch.process = event.globalPid"
                )
            else:
                source += " LEFT JOIN temp.launch ON FALSE"
        elif "eventType" in has:
            source += f" WHERE event.eventType IN {_MARKS_AND_RANGES}"
        last = -(1 << 63)
        for row in self._database.execute(f"{select}{source} ORDER BY event.start"):
            start = row["start"]
            # Of another type is only what sorts before or after all numbers.
            last = start if isinstance(start, int) else last
            yield last, table, row

    def _write_launches(self) -> None:
        """The calls of the host by what they launched, in a temporary file of SQLite's."""
        self._database.execute(
            "CREATE TEMP TABLE launch (correlation, process, start, end,"
            " PRIMARY KEY (correlation, process)) WITHOUT ROWID"
        )
        if {"start", "end", "correlationId", "globalTid"} <= self._columns.get(_CALLS, set()):
            self._database.execute(
                "INSERT OR IGNORE INTO temp.launch"
                f" SELECT correlationId, globalTid & ~0xFFFFFF, start, end FROM {_CALLS}"
                " WHERE correlationId IS NOT NULL AND globalTid IS NOT NULL"
            )

    def _position(self, row: Row) -> Position:
        return Position(self._path, row["row"])

    # Strings and devices, which rows refer to by numbers.

    def _read_string(self, identifier: int) -> str | None:
        if not {"id", "value"} <= self._columns.get("StringIds", set()):
            return None
        row = self._database.execute(
            "SELECT substr(value, 1, ?) FROM StringIds WHERE id = ?",
            (_NAME_CHARACTERS, identifier),
        ).fetchone()
        return None if row is None or row[0] is None else str(row[0])

    def _read_names(
        self, demangled: int | None, short: int | None, mangled: int | None
    ) -> tuple[str, Mapping[str, str]]:
        """The name of a kernel, and its other names."""
        names = {
            label: name
            for label, identifier in (("short_name", short), ("mangled_name", mangled))
            if identifier is not None and (name := self._string(identifier)) is not None
        }
        name = None if demangled is None else self._string(demangled)
        return name or names.get("short_name") or "", names

    def _read_gpus(self) -> Iterator[tuple[int, MeasuredDevice]]:
        has = self._columns.get(_GPUS, set())
        if not {"id", "name"} <= has:
            return
        wanted = ("id", "name", "smCount", "computeMajor", "computeMinor")
        columns = ", ".join(name if name in has else f"NULL AS {name}" for name in wanted)
        for row in self._database.execute(
            f"SELECT {columns} FROM {_GPUS} ORDER BY id LIMIT {_DEVICES}"
        ):
            gpu_id, major, minor = (row["id"], row["computeMajor"], row["computeMinor"])
            if not isinstance(gpu_id, int):
                continue
            name = str(row["name"] or "GPU")
            known = isinstance(major, int) and isinstance(minor, int)
            cores = row["smCount"]
            yield (
                gpu_id,
                MeasuredDevice(
                    f"{name} ({gpu_id})",
                    name,
                    f"sm_{major}{minor}" if known else None,
                    cores if isinstance(cores, int) and cores > 0 else None,
                ),
            )

    def _read_device(self, number: int | None, process: int | None) -> str | None:
        """The device of a number of CUDA's, which CUDA_VISIBLE_DEVICES changes in a process."""
        if number is None:
            return None
        gpu_id = number
        if {"gpuId", "cudaId", "pid"} <= self._columns.get(_CUDA_DEVICES, set()) and process:
            row = self._database.execute(
                f"SELECT gpuId FROM {_CUDA_DEVICES} WHERE cudaId = ? AND pid = ?",
                (number, process >> 24 & 0xFFFFFF),
            ).fetchone()
            gpu_id = number if row is None else row[0]
        gpu = self._gpus.get(gpu_id)
        return str(number) if gpu is None else gpu.device

    def _read_domains(self) -> Iterator[tuple[tuple[int, int | None], str]]:
        """The names of NVTX's domains in each process."""
        if not {"eventType", *_RANGE} <= self._columns.get(_RANGES, set()):
            return
        for row in self._database.execute(
            f"SELECT domainId, globalTid, text, textId FROM {_RANGES} WHERE eventType = {_DOMAIN}"
            f" LIMIT {_DEVICES}"
        ):
            name = self._text(row)
            if name is not None and isinstance(row["domainId"], int):
                yield (row["domainId"], _process(row)), name

    def _text(self, row: Row) -> str | None:
        text = row["text"]
        if isinstance(text, str):
            return text[:_NAME_CHARACTERS]
        identifier = _whole(row, "textId")
        return None if identifier is None else self._string(identifier)

    # Records.

    def _kernel(self, row: Row) -> Operation:
        _check(row)
        name, names = self._names(row["demangledName"], row["shortName"], row["mangledName"])
        static, dynamic = row["staticSharedMemory"], row["dynamicSharedMemory"]
        local = row["localMemoryPerThread"]
        return self._operation(
            row,
            name,
            kind_of_kernel(name),
            names,
            grid=_dimensions(row, "gridX", "gridY", "gridZ"),
            block=_dimensions(row, "blockX", "blockY", "blockZ"),
            shared_bytes=None if static is None or dynamic is None else static + dynamic,
            registers=row["registersPerThread"],
            counters=_NO_COUNTERS if local is None else {"localMemoryPerThread": local},
        )

    def _copy(self, row: Row) -> Operation:
        _check(row)
        kind: int = row["copyKind"] or 0
        words = _COPY_KINDS[kind] if 0 < kind < len(_COPY_KINDS) else "Unknown"
        return self._operation(row, f"[CUDA memcpy {words}]", "copy", counters=_bytes(row))

    def _fill(self, row: Row) -> Operation:
        _check(row)
        return self._operation(row, "[CUDA memset]", "copy", counters=_bytes(row))

    def _graph(self, row: Row) -> Operation:
        _check(row)
        graph = row["graphId"]
        return self._operation(
            row, "CUDA graph" if graph is None else f"CUDA graph {graph}", "kernel"
        )

    def _operation(
        self,
        row: Row,
        name: str,
        kind: OperationKind,
        attributes: Mapping[str, str] = _NO_WORDS,
        *,
        grid: tuple[int, int, int] | None = None,
        block: tuple[int, int, int] | None = None,
        shared_bytes: int | None = None,
        registers: int | None = None,
        counters: Mapping[str, float] = _NO_COUNTERS,
    ) -> Operation:
        """What kernels, copies, fills and graphs have in common."""
        start, end = row["start"], row["end"]
        if start is None or end is None:
            raise ValueError("start is empty" if start is None else "end is empty")
        if end < start:
            raise ValueError(f"end {end} is before start {start}")
        process, correlation = row["globalPid"], row["correlationId"]
        stream = row["streamId"]
        launched, returned = row["call_start"], row["call_end"]
        # A node shares the launch of its graph with all others.
        is_node = row["graphNodeId"] is not None
        is_in_graph = is_node or row["graphExecId"] is not None
        return Operation(
            name,
            self._position(row),
            kind=kind,
            device=self._device(row["deviceId"], process),
            stream=None if stream is None else str(stream),
            start_s=self._moment(start),
            launched_s=None if launched is None else self._moment(launched),
            graph_launch=f"{process or 0}:{correlation}" if is_in_graph and correlation else None,
            time_s=(end - start) * 1e-9,
            host_time_s=None if is_node else _duration(launched, returned),
            grid=grid,
            block=block,
            shared_bytes=shared_bytes,
            registers=registers,
            attributes=attributes,
            counters=counters,
        )

    def _signpost(self, row: Row) -> Signpost:
        start, end = _whole(row, "start"), _whole(row, "end")
        if start is None:
            raise ValueError("start is empty")
        domain = self._domains.get((_whole(row, "domainId") or 0, _process(row)))
        text = self._text(row) or ""
        return Signpost(
            f"{domain}:{text}" if domain else text,
            self._position(row),
            self._moment(start),
            None if end is None else self._moment(end),
        )

    def _moment(self, time_ns: int) -> float:
        return (time_ns - self._origin_ns) * 1e-9


def _check(row: Row) -> None:
    """Refuse values that are no whole numbers: SQLite does not force the types of columns."""
    if not _WHOLE.issuperset(map(type, row)):
        for name in row.keys():  # noqa: SIM118
            _whole(row, name)


def _whole(row: Row, name: str) -> int | None:
    """A whole number of a row, or None."""
    value = row[name]
    if value is None or isinstance(value, int):
        return value
    raise ValueError(f"{name} is {str(value)[:40]!r}, no whole number")


def _duration(start_ns: int | None, end_ns: int | None) -> float | None:
    if start_ns is None or end_ns is None or end_ns < start_ns:
        return None
    return (end_ns - start_ns) * 1e-9


def _dimensions(row: Row, *names: str) -> tuple[int, int, int] | None:
    x, y, z = (row[name] for name in names)
    if x is None or y is None or z is None:
        return None
    if x < 0 or y < 0 or z < 0:
        raise ValueError(f"{names[0]} is negative")
    return x, y, z


def _bytes(row: Row) -> Mapping[str, float]:
    size = row["bytes"]
    return _NO_COUNTERS if size is None else {"bytes": size}


def _process(row: Row) -> int | None:
    thread = _whole(row, "globalTid")
    return None if thread is None else thread >> 24


READER = NsightSystemsSqlite()
