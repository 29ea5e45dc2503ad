"""Events of a trace in a temporary file, which joins and sorts them in constant memory.

Times are integers of nanoseconds: as a float, seconds since 1970 have steps of 240 ns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from tirlens.measured.reading.trace_file import TraceError

_BATCH = 4096
_CACHE_KIB = 8192

_SCHEMA = """
CREATE TABLE work(
    event INTEGER, kind TEXT, name TEXT, start_ns INTEGER, time_ns INTEGER, device TEXT,
    stream TEXT, correlation INTEGER, external INTEGER, details TEXT);
CREATE TABLE launch(
    correlation INTEGER PRIMARY KEY, name TEXT, start_ns INTEGER, time_ns INTEGER,
    external INTEGER, details TEXT);
CREATE TABLE host(
    event INTEGER PRIMARY KEY, name TEXT, start_ns INTEGER, time_ns INTEGER, thread TEXT,
    external INTEGER, arguments TEXT, is_section INTEGER);
CREATE TABLE section(
    event INTEGER, name TEXT, start_ns INTEGER, end_ns INTEGER, external INTEGER);
"""
_INSERTS = {
    "work": "INSERT INTO work VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "launch": "INSERT OR IGNORE INTO launch VALUES (?, ?, ?, ?, ?, ?)",
    "host": "INSERT OR IGNORE INTO host VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "section": "INSERT INTO section VALUES (?, ?, ?, ?, ?)",
}
_INDEXES = """
CREATE INDEX host_external ON host(external) WHERE external IS NOT NULL AND NOT is_section;
CREATE TABLE launched AS
    SELECT correlation, count(*) AS operations FROM work
    WHERE correlation IS NOT NULL GROUP BY correlation HAVING count(*) > 1;
CREATE UNIQUE INDEX launched_correlation ON launched(correlation);
"""
_WORK = """
SELECT work.event, work.kind, work.name, work.start_ns, work.time_ns, work.device, work.stream,
    work.correlation, work.details, launch.name, launch.start_ns, launch.time_ns, launch.details,
    coalesce(launched.operations, 1), host.name, host.arguments
FROM work
LEFT JOIN launch ON launch.correlation = work.correlation
LEFT JOIN launched ON launched.correlation = work.correlation
LEFT JOIN host ON host.event = (
    SELECT event FROM host AS candidate WHERE NOT candidate.is_section
    AND candidate.external = coalesce(work.external, launch.external) LIMIT 1)
ORDER BY work.start_ns, work.event
"""
# A section has a copy on each stream; without one, the window on the host has to do.
_SECTIONS = """
SELECT min(event), name, min(start_ns), max(end_ns) AS end_ns FROM section
GROUP BY name, coalesce(external, -event)
UNION ALL
SELECT event, name, start_ns, start_ns + time_ns FROM host
WHERE is_section AND name NOT IN (SELECT name FROM section)
ORDER BY 3, 4 DESC
"""
_NESTING = (
    "SELECT event, thread, start_ns, time_ns FROM host ORDER BY thread, start_ns, time_ns DESC"
)
_HOST = """
SELECT host.event, name, start_ns, own.time_ns, host.time_ns, thread, arguments
FROM host JOIN own ON own.event = host.event WHERE NOT is_section ORDER BY start_ns, host.event
"""


class Work(NamedTuple):
    """What a device executed, with the call that launched it and the operation around that."""

    event: int
    kind: str
    name: str
    start_ns: int
    time_ns: int
    device: str | None
    stream: str | None
    correlation: int | None
    details: str
    launch_name: str | None
    launch_start_ns: int | None
    launch_time_ns: int | None
    launch_details: str | None
    launched_operations: int
    host_name: str | None
    host_arguments: str | None


class Section(NamedTuple):
    """A section that the program has marked."""

    event: int
    name: str
    start_ns: int
    end_ns: int


class HostOperation(NamedTuple):
    """An operation on the host; `own_ns` is its time without the operations that it calls."""

    event: int
    name: str
    start_ns: int
    own_ns: int
    time_ns: int
    thread: str
    arguments: str


class EventSpool:
    """Tables of events; `Work`, `Section` and `HostOperation` are what they are joined to."""

    def __init__(self) -> None:
        # Without a name: a temporary file, of which sqlite deletes the name at once.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;"
            f"PRAGMA cache_size = -{_CACHE_KIB}; BEGIN; {_SCHEMA}"
        )
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _INSERTS}

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()

    def add(self, table: str, *row: Any) -> None:
        """A row of `work`, `launch`, `host` or `section`."""
        rows = self._rows[table]
        rows.append(row)
        if len(rows) >= _BATCH:
            self._insert(table)

    def finish(self) -> None:
        """Index the tables; no more rows follow."""
        for table in _INSERTS:
            self._insert(table)
        self._execute_script(_INDEXES)

    def origin_ns(self) -> int:
        """The first begin of all events."""
        tables = ("work", "host", "section")
        begins = (next(self._select(f"SELECT min(start_ns) FROM {table}"))[0] for table in tables)
        return min((begin for begin in begins if begin is not None), default=0)

    def devices(self) -> list[str]:
        """The devices that have executed something."""
        query = (
            "SELECT DISTINCT device FROM work WHERE device IS NOT NULL ORDER BY device LIMIT 999"
        )
        return [device for (device,) in self._select(query)]

    def work(self) -> Iterator[Work]:
        """What devices have executed, in the order of its begin."""
        return map(Work._make, self._select(_WORK))

    def sections(self) -> Iterator[Section]:
        """The sections in the order of their begin."""
        return map(Section._make, self._select(_SECTIONS))

    def host_operations(self) -> Iterator[HostOperation]:
        """The operations of the host in the order of their begin."""
        self._execute_script("CREATE TABLE own(event INTEGER PRIMARY KEY, time_ns INTEGER)")
        insert = "INSERT INTO own VALUES (?, ?)"
        batch: list[tuple[int, int]] = []
        for row in _own_times(self._select(_NESTING)):
            batch.append(row)
            if len(batch) >= _BATCH:
                self._database.executemany(insert, batch)
                batch.clear()
        self._database.executemany(insert, batch)
        return map(HostOperation._make, self._select(_HOST))

    def _insert(self, table: str) -> None:
        try:
            self._database.executemany(_INSERTS[table], self._rows[table])
        except sqlite3.OperationalError as error:
            raise TraceError(f"cannot be kept in a temporary file: {error}") from error
        self._rows[table].clear()

    def _execute_script(self, script: str) -> None:
        # `executescript` would commit, and sqlite then forgets what it has cached.
        for statement in filter(str.strip, script.split(";")):
            self._database.execute(statement)

    def _select(self, query: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._database.execute(query)
        except sqlite3.OperationalError as error:
            raise TraceError(f"cannot be kept in a temporary file: {error}") from error


def _own_times(rows: Iterator[tuple[int, str, int, int]]) -> Iterator[tuple[int, int]]:
    """The time of each event without the events inside it, on the same thread."""
    inside: list[_Open] = []
    for event, thread, start_ns, time_ns in rows:
        while inside and (inside[-1].thread != thread or inside[-1].end_ns <= start_ns):
            closed = inside.pop()
            yield closed.event, closed.own_ns
        if inside:
            inside[-1].own_ns -= min(time_ns, inside[-1].end_ns - start_ns)
        inside.append(_Open(event, thread, start_ns + time_ns, time_ns))
    for left in inside:
        yield left.event, left.own_ns


class _Open:
    """An event that has not ended."""

    __slots__ = ("end_ns", "event", "own_ns", "thread")

    def __init__(self, event: int, thread: str, end_ns: int, own_ns: int) -> None:
        self.event = event
        self.thread = thread
        self.end_ns = end_ns
        self.own_ns = own_ns
