"""The database that ``nsys export --type sqlite`` writes, read as operations and signposts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tirlens.measured.reading.cuda_names import kind_of_kernel
from tirlens.measured.reading.nsight_systems_database import (
    GPUS,
    OPERATIONS,
    RANGES,
    Database,
    Row,
    check_whole_numbers,
    open_database,
    whole_number,
)
from tirlens.measured.reading.nsight_systems_names import Names
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import Operation, OperationKind, Problem, Record, Signpost

# ENUM_CUDA_MEMCPY_OPER, a table that versions before 2022.2 do not write.
_COPY_KINDS = (
    "Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host",
    "Array-to-Array", "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host",
    "Peer-to-Peer", "Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device",
)  # fmt: skip

# Time stamps beyond 11 days are of a clock and not of a session.
_LONGEST_SESSION_NS = 10**15
_ROWS_PER_PROGRESS = 10_000

_NO_WORDS: Mapping[str, str] = {}
_NO_COUNTERS: Mapping[str, float] = {}


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
            with open_database(trace) as database:
                tables = database.tables
        except TraceError:
            return False
        known = {"EXPORT_META_DATA", "META_DATA_EXPORT", GPUS, RANGES, *OPERATIONS}
        return "StringIds" in tables and not known.isdisjoint(tables)

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The devices, then operations and signposts in the order of their begin."""
        with open_database(trace) as database:
            yield from _Export(trace, database).records()


class _Export:
    """An open database."""

    def __init__(self, trace: TraceFile, database: Database) -> None:
        self._trace = trace
        self._database = database
        self._names = Names(database)
        self._origin_ns = 0

    def records(self) -> Iterator[Record]:
        """The devices, then all else."""
        yield from self._database.remarks()
        yield from self._names.problems
        yield from self._names.devices.values()
        read: dict[str, Callable[[Row], Record]] = {
            "CUPTI_ACTIVITY_KIND_KERNEL": self._kernel,
            "CUPTI_ACTIVITY_KIND_MEMCPY": self._copy,
            "CUPTI_ACTIVITY_KIND_MEMSET": self._fill,
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": self._graph,
            RANGES: self._signpost,
        }
        tables = [table for table in read if self._database.has(table, "start", "end")]
        rows_total = max(1, sum(map(self._database.rows_at_most, tables)))
        rows = self._database.rows(tables)
        for number, (start_ns, table, row) in enumerate(rows, 1):
            if number == 1 and start_ns > _LONGEST_SESSION_NS:
                self._origin_ns = start_ns
            if number % _ROWS_PER_PROGRESS == 0:
                done = min(number, rows_total) * self._trace.size_bytes // rows_total
                self._trace.progress(done, self._trace.size_bytes)
            try:
                yield read[table](row)
            except ValueError as error:
                yield Problem(self._database.position(row), f"{table}, row {row['row']}: {error}")
        self._trace.progress(self._trace.size_bytes, self._trace.size_bytes)

    def _kernel(self, row: Row) -> Operation:
        check_whole_numbers(row)
        name, names = self._names.kernel(row["demangledName"], row["shortName"], row["mangledName"])
        static, dynamic = _size(row, "staticSharedMemory"), _size(row, "dynamicSharedMemory")
        local = _size(row, "localMemoryPerThread")
        return self._operation(
            row,
            name,
            kind_of_kernel(name),
            names,
            grid=_dimensions(row, "gridX", "gridY", "gridZ"),
            block=_dimensions(row, "blockX", "blockY", "blockZ"),
            shared_bytes=None if static is None or dynamic is None else static + dynamic,
            registers=_size(row, "registersPerThread"),
            counters=_NO_COUNTERS if local is None else {"localMemoryPerThread": local},
        )

    def _copy(self, row: Row) -> Operation:
        check_whole_numbers(row)
        kind: int = row["copyKind"] or 0
        words = _COPY_KINDS[kind] if 0 < kind < len(_COPY_KINDS) else "Unknown"
        return self._operation(row, f"[CUDA memcpy {words}]", "copy", counters=_bytes(row))

    def _fill(self, row: Row) -> Operation:
        check_whole_numbers(row)
        return self._operation(row, "[CUDA memset]", "copy", counters=_bytes(row))

    def _graph(self, row: Row) -> Operation:
        check_whole_numbers(row)
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
            self._database.position(row),
            kind=kind,
            device=self._names.device(row["deviceId"], process),
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
        start, end = whole_number(row, "start"), whole_number(row, "end")
        if start is None:
            raise ValueError("start is empty")
        return Signpost(
            self._names.range(row),
            self._database.position(row),
            self._moment(start),
            None if end is None else self._moment(end),
        )

    def _moment(self, time_ns: int) -> float:
        return (time_ns - self._origin_ns) * 1e-9


def _duration(start_ns: int | None, end_ns: int | None) -> float | None:
    if start_ns is None or end_ns is None or end_ns < start_ns:
        return None
    return (end_ns - start_ns) * 1e-9


def _dimensions(row: Row, *names: str) -> tuple[int, int, int] | None:
    x, y, z = (row[name] for name in names)
    if x is None or y is None or z is None:
        return None
    if min(x, y, z) < 1:
        raise ValueError(f"{', '.join(names)} are {x}, {y}, {z}")
    return x, y, z


def _size(row: Row, name: str) -> int | None:
    size: int | None = row[name]
    if size is not None and size < 0:
        raise ValueError(f"{name} is {size}")
    return size


def _bytes(row: Row) -> Mapping[str, float]:
    size = _size(row, "bytes")
    return _NO_COUNTERS if size is None else {"bytes": size}


READER = NsightSystemsSqlite()
