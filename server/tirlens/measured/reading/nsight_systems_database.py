"""The database that ``nsys export --type sqlite`` writes: its tables, and the rows of its events.

Source: NVIDIA, "Nsight Systems Exporter", section "SQLite Schema Reference": times are nanoseconds
since the begin of the session, a ``globalPid`` is a ``globalTid`` without its lower 24 bits, and a
table exists only where there are events for it.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property, partial
from typing import TypeAlias
from urllib.parse import quote

from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import Position, Problem

GPUS = "TARGET_INFO_GPU"
CUDA_DEVICES = "TARGET_INFO_CUDA_DEVICE"
RANGES = "NVTX_EVENTS"
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"

# The columns that are read, beside `start` and `end`.  Versions lack some of them.
_LAUNCHED = ("deviceId", "streamId", "correlationId", "globalPid")
_KERNEL = (
    "demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY",
    "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
    "localMemoryPerThread", "graphNodeId",
)  # fmt: skip
OPERATIONS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": _LAUNCHED + _KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": (*_LAUNCHED, "bytes", "copyKind", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_MEMSET": (*_LAUNCHED, "bytes", "graphNodeId"),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (*_LAUNCHED, "graphId", "graphExecId"),
}
# Without these, a figure of few traces is not known.
_SELDOM = {"mangledName", "localMemoryPerThread", "graphNodeId"}
RANGE_COLUMNS = ("eventType", "text", "textId", "domainId", "globalTid")

# ENUM_NSYS_EVENT_TYPE: marks, push and pop, start and end, of NVTX and of text imported as such.
_MARKS_AND_RANGES = (34, 59, 60, 65, 70, 71)
_WHOLE = frozenset({int, type(None)})

Row: TypeAlias = sqlite3.Row


class Database:
    """An open database.

    Attributes
    ----------
    path
        Its file.
    connection
        Gives rows whose columns have names.
    tables
        The names of its tables; views and virtual tables, which compute, are none.
    """

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        rows = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 LIMIT 10000"
        )
        self.tables = {str(row[0]) for row in rows}

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The names of the columns by the names of the tables."""
        query = "SELECT name FROM pragma_table_info(?)"
        return {
            table: frozenset(str(row[0]) for row in self.connection.execute(query, (table,)))
            for table in self.tables
        }

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a table with these columns."""
        return table in self.tables and self.columns[table].issuperset(columns)

    def position(self, row: Row) -> Position:
        """Where a row of `rows` is."""
        return Position(self.path, row["row"])

    def remarks(self) -> Iterator[Problem]:
        """What cannot be known without a table or a column."""
        position = Position(self.path, 1)
        if self.tables.isdisjoint(OPERATIONS):
            yield Problem(position, "has no kernels, copies or graphs (nsys profile --trace=cuda)")
        elif not self._has_launches():
            yield Problem(position, f"has no {_CALLS}: when the host launched is not known")
        for table, wanted in (*OPERATIONS.items(), (RANGES, RANGE_COLUMNS)):
            columns = self.columns.get(table)
            if columns is None:
                continue
            missing = [
                name
                for name in ("start", "end", *wanted)
                if name not in columns and name not in _SELDOM
            ]
            if missing:
                yield Problem(position, f"{table} has no {', '.join(missing)}")

    def rows_at_most(self, table: str) -> int:
        """The greatest number of a row, which is known without reading the table."""
        query = f"SELECT max(rowid) FROM {table}"
        return int(self.connection.execute(query).fetchone()[0] or 0)

    def rows(self, tables: Iterable[str]) -> Iterator[tuple[int, str, Row]]:
        """The rows of all `tables` by their begin, with it and the table.

        The columns are those of `OPERATIONS` or `RANGE_COLUMNS`, NULL where this version has none.
        Operations have in addition ``call_start`` and ``call_end`` of the call that launched them.
        """
        self._write_launches()
        return heapq.merge(*map(self._rows, tables), key=lambda item: item[0])

    def _has_launches(self) -> bool:
        return self.has(_CALLS, "start", "end", "correlationId", "globalTid")

    def _rows(self, table: str) -> Iterator[tuple[int, str, Row]]:
        """The rows of a table by their begin, each once; SQLite sorts them in files."""
        has = self.columns[table]
        wanted = OPERATIONS.get(table, RANGE_COLUMNS)
        if table in OPERATIONS:
            wanted = tuple(dict.fromkeys((*wanted, "graphNodeId", "graphExecId")))
        columns = ", ".join(
            f"event.{name}" if name in has else f"NULL AS {name}" for name in wanted
        )
        select = f"SELECT event.rowid AS row, event.start, event.end, {columns}"
        source = f" FROM {table} AS event"
        if table in OPERATIONS:
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
        for row in self.connection.execute(f"{select}{source} ORDER BY event.start"):
            start = row["start"]
            # Of another type is only what sorts before or after all numbers.
            last = start if isinstance(start, int) else last
            yield last, table, row

    def _write_launches(self) -> None:
        """The calls of the host by what they launched, in a temporary file of SQLite's."""
        self.connection.execute(
            "CREATE TEMP TABLE launch (correlation, process, start, end,"
            " PRIMARY KEY (correlation, process)) WITHOUT ROWID"
        )
        if self._has_launches():
            self.connection.execute(
                "INSERT OR IGNORE INTO temp.launch"
                f" SELECT correlationId, globalTid & ~0xFFFFFF, start, end FROM {_CALLS}"
                " WHERE correlationId IS NOT NULL AND globalTid IS NOT NULL"
            )


@contextmanager
def open_database(trace: TraceFile) -> Generator[Database]:
    """The database, which is not written, and of whose schema no function is evaluated.

    Raises
    ------
    TraceError
        It is compressed, or SQLite cannot read it; then also in the body of the statement.
    """
    if trace.is_compressed:
        raise TraceError(f"{trace.path}: SQLite reads no compressed file: expand it with gunzip")
    uri = f"file:{quote(str(trace.path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            yield Database(str(trace.path), connection)
    except (sqlite3.Error, UnicodeError) as error:
        raise TraceError(f"{trace.path}: cannot be read as a database: {error}") from error


def check_whole_numbers(row: Row) -> None:
    """Refuse values that are no whole numbers: SQLite does not force the types of columns."""
    if not _WHOLE.issuperset(map(type, row)):
        for name in row.keys():  # noqa: SIM118
            whole_number(row, name)


def whole_number(row: Row, name: str) -> int | None:
    """A whole number of a row, or None."""
    value = row[name]
    if value is None or isinstance(value, int):
        return value
    raise ValueError(f"{name} is {str(value)[:40]!r}, no whole number")
