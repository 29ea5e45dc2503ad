"""The CSV of operations of Tenstorrent's profiler (``ops_perf_results_*.csv`` of tt-metal).

Three versions are read: the first has plain sizes, the second sizes of the form
``padded[logical]`` in columns ``..._PAD[LOGICAL]``, the third ``DEVICE ARCH`` and
``AVAILABLE WORKER CORE COUNT``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from tirlens.measured.performance.tensix import work_of
from tirlens.measured.reading.csv_rows import csv_rows
from tirlens.measured.reading.numbers import number_of, seconds_of, shortened_repr
from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import (
    MeasuredDevice,
    Operation,
    OperationKind,
    Position,
    Problem,
    Record,
    Signpost,
    Tensor,
)  # fmt: skip

_REQUIRED = {"OP CODE", "OP TYPE", "DEVICE KERNEL DURATION [ns]"}
# What operations keep as the trace has it.
_ATTRIBUTES = (
    "OP TYPE", "ATTRIBUTES", "MATH FIDELITY", "PARALLELIZATION STRATEGY",
    "SUB DEVICE ID", "AVAILABLE WORKER CORE COUNT", "METAL TRACE ID",
    "METAL TRACE REPLAY SESSION ID",
)  # fmt: skip
_COLLECTIVES = ("AllGather", "AllReduce", "ReduceScatter", "AllToAll", "AllBroadcast")
# Of the first two versions, as tt-perf-report has it.
_ASSUMED_ARCHITECTURE = "wormhole_b0"
_HOST_MARK = "(torch)"
# No device has more cores, and no tensor a larger dimension.
_MOST_CORES = 1 << 20
_LARGEST_DIMENSION = 1 << 32
# With a gap that is longer than this below zero, the clock of the row is wrong.
_WRONG_CLOCK_S = 1e-3
_ABSENT = Tensor()
_SHORTEST_FOR_CLOCK = 1000.0
_DIMENSION = re.compile(r"\s*(\d{1,12})(?:\.0*)?(?:\[(\d{1,12})\])?\s*\Z")


class TenstorrentOperations:
    """One row for each operation on each device, and for each signpost of Tracy."""

    format_name = "operations of Tenstorrent's profiler"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the header has the columns of all versions."""
        return set(trace.first_line.split(",")) >= _REQUIRED

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """An operation for each row, with what the shapes say of its FLOP and bytes."""
        columns: _Columns | None = None
        with trace.text() as file:
            for found in csv_rows(trace, file):
                if isinstance(found, Problem):
                    yield found
                    continue
                position, row = found
                if columns is None:
                    columns = _Columns(row) if any(row) else None
                elif any(row):
                    yield from columns.records(position, row)


class _Columns:
    """Reads rows by the names of their columns; of two with one name, the first counts."""

    def __init__(self, header: Sequence[str]) -> None:
        self._width = len(header)
        self._index: dict[str, int] = {}
        for number, name in enumerate(header):
            self._index.setdefault(name.strip(), number)
        self._inputs = self._tensor_columns("INPUT")
        self._outputs = self._tensor_columns("OUTPUT")
        self._counters_at = {
            name: index
            for name, index in self._index.items()
            if name.startswith("PM ") or name.endswith("UTIL (%)")
            if name.endswith(("[ns]", "(%)"))
        }
        self._devices: set[tuple[str | None, str | None]] = set()
        self._clocks: dict[str | None, tuple[float, float]] = {}

    def _tensor_columns(self, kind: str) -> list[tuple[int | None, ...]]:
        """The columns of the dimensions, type, layout and memory of each argument."""
        found: list[tuple[int | None, ...]] = []
        while f"{kind}_{len(found)}_DATATYPE" in self._index:
            name = f"{kind}_{len(found)}"
            sizes = (
                self._index.get(f"{name}_{axis}_PAD[LOGICAL]", self._index.get(f"{name}_{axis}"))
                for axis in "WZYX"
            )
            words = (self._index.get(f"{name}_{word}") for word in ("DATATYPE", "LAYOUT", "MEMORY"))
            found.append((*sizes, *words))
        return found

    def records(self, position: Position, row: Sequence[str]) -> Iterator[Record]:
        if len(row) < self._width:
            yield Problem(position, f"has {len(row):,} of {self._width:,} columns")
        name, type_ = self._text(row, "OP CODE"), self._text(row, "OP TYPE")
        problems: list[Problem] = []
        order = self._value(row, "HOST START TS", position, problems)
        if not name:
            yield Problem(position, "OP CODE is empty")
        elif type_ == "signpost":
            yield Signpost(name, position, order=order)
        else:
            yield from self._operation(position, row, name, type_, order, problems)
        yield from problems

    def _operation(
        self,
        position: Position,
        row: Sequence[str],
        name: str,
        type_: str,
        order: float | None,
        problems: list[Problem],
    ) -> Iterator[Record]:
        is_host = _HOST_MARK in name or type_ not in ("tt_dnn_device", "")
        kind: OperationKind = "kernel"
        if is_host:
            kind = "host"
        elif any(word in name for word in _COLLECTIVES):
            kind = "collective"
        device = self._device(row, position, problems)
        architecture = self._text(row, "DEVICE ARCH") or None
        budget = self._count(row, "AVAILABLE WORKER CORE COUNT", position, problems)
        if not is_host and (device, architecture) not in self._devices:
            self._devices.add((device, architecture))
            yield MeasuredDevice(
                device,
                architecture=architecture or _ASSUMED_ARCHITECTURE,
                cores=budget,
                is_assumed=architecture is None,
            )
        time_s = self._duration(row, "DEVICE KERNEL DURATION [ns]", position, problems)
        gap = self._value(row, "OP TO OP LATENCY [ns]", position, problems)
        gap_s = None if gap is None else gap * 1e-9
        if gap_s is not None and gap_s < -_WRONG_CLOCK_S and -gap_s > (time_s or 0.0) / 2:
            problems.append(Problem(position, "begins before the operation ahead of it: its times"
                                    " are of another clock"))  # fmt: skip
            time_s = None
        inputs = tuple(_tensor(row, columns) for columns in self._inputs)
        outputs = tuple(_tensor(row, columns) for columns in self._outputs)
        attributes = {key: value for key in _ATTRIBUTES if (value := self._text(row, key))}
        work = work_of(
            name,
            attributes.get("ATTRIBUTES", ""),
            attributes.get("MATH FIDELITY", ""),
            architecture,
            inputs,
            outputs,
        )
        if work.description:
            attributes["description"] = work.description
        if work.fidelity:
            attributes["math fidelity"] = work.fidelity
        cores = self._count(row, "CORE COUNT", position, problems)
        yield Operation(
            name,
            position,
            kind,
            device,
            start_s=None if is_host else self._start_s(row, device),
            call_number=self._call_number(row),
            order=order,
            graph_launch=self._graph_launch(attributes),
            time_s=None if is_host else time_s,
            host_time_s=self._duration(row, "HOST DURATION [ns]", position, problems),
            gap_s=None if gap_s is None or gap_s < 0 else gap_s,
            cores=work.cores or cores,
            flop=work.flop,
            dram_bytes=work.dram_bytes,
            inputs=_without_absent(inputs),
            outputs=_without_absent(outputs),
            attributes=_same_attributes(tuple(attributes.items())),
            counters=self._counters(row),
        )

    def _call_number(self, row: Sequence[str]) -> int | None:
        text = self._text(row, "GLOBAL CALL COUNT").removesuffix(".0")
        return int(text) if text.isdecimal() and len(text) < 19 else None

    def _counters(self, row: Sequence[str]) -> Mapping[str, float]:
        """The estimates of tt-metal's performance model in s, and utilisations in %."""
        found: dict[str, float] = {}
        for name, index in self._counters_at.items():
            text = row[index] if index < len(row) else ""
            if text and text[0].isdigit():
                try:
                    value = number_of(text)
                except ValueError:
                    continue
                found[name] = value * 1e-9 if name.endswith("[ns]") else value
        return _same_counters(tuple(found.items()))

    def _graph_launch(self, attributes: dict[str, str]) -> str | None:
        """The replay of a trace that executed the operation."""
        trace = attributes.get("METAL TRACE ID")
        if trace is None:
            return None
        return f"{trace}/{attributes.get('METAL TRACE REPLAY SESSION ID', '')}"

    def _start_s(self, row: Sequence[str], device: str | None) -> float | None:
        """The begin since the device's first operation, of the cycles of its own clock."""
        try:
            start, end = (
                number_of(self._text(row, f"DEVICE FW {word} CYCLE")) for word in ("START", "END")
            )
            time_s = seconds_of(self._text(row, "DEVICE FW DURATION [ns]"), 1e-9)
        except ValueError:
            return None
        if device not in self._clocks:
            if end - start < _SHORTEST_FOR_CLOCK or not time_s:
                return None
            clock_hz = float(f"{(end - start) / time_s:.3g}")
            self._clocks[device] = start, clock_hz
        first, clock_hz = self._clocks[device]
        return (start - first) / clock_hz

    def _device(
        self, row: Sequence[str], position: Position, problems: list[Problem]
    ) -> str | None:
        text = self._text(row, "DEVICE ID")
        if text and not re.fullmatch(r"\d{1,9}(\.0+)?", text):
            problems.append(Problem(position, f"DEVICE ID: {shortened_repr(text)} names no device"))
            return None
        return text.partition(".")[0] or None

    def _text(self, row: Sequence[str], column: str) -> str:
        index = self._index.get(column)
        return _same_text(row[index].strip()) if index is not None and index < len(row) else ""

    def _value(
        self,
        row: Sequence[str],
        column: str,
        position: Position,
        problems: list[Problem],
        read: Callable[[str], float] = number_of,
    ) -> float | None:
        text = self._text(row, column)
        if not text:
            return None
        try:
            return read(text)
        except ValueError as error:
            problems.append(Problem(position, f"{column}: {error}"))
            return None

    def _duration(
        self, row: Sequence[str], column: str, position: Position, problems: list[Problem]
    ) -> float | None:
        return self._value(row, column, position, problems, lambda text: seconds_of(text, 1e-9))

    def _count(
        self, row: Sequence[str], column: str, position: Position, problems: list[Problem]
    ) -> int | None:
        value = self._value(row, column, position, problems)
        if value is None:
            return None
        if value != int(value) or not 0 <= value <= _MOST_CORES:
            problems.append(Problem(position, f"{column}: {value:g} is no number of cores"))
            return None
        # Operations of no core are those of the host.
        return int(value) or None


def _tensor(row: Sequence[str], columns: Sequence[int | None]) -> Tensor:
    cells = [
        row[index].strip() if index is not None and index < len(row) else "" for index in columns
    ]
    return _tensor_of(tuple(cells))


@lru_cache(4096)
def _tensor_of(cells: tuple[str, ...]) -> Tensor:
    *sizes, dtype, layout, memory = cells
    padded: list[int] = []
    logical: list[int] = []
    for text in sizes:
        found = _DIMENSION.match(text)
        size = int(found[1]) if found else 0
        if found is None or not 0 < size <= _LARGEST_DIMENSION:
            padded = []
            break
        padded.append(size)
        logical.append(int(found[2]) if found[2] else size)
    if not any((dtype, layout, memory, padded)):
        return _ABSENT
    shape = tuple(padded) or None
    logical_shape = tuple(logical) if shape is not None else None
    return Tensor(
        shape,
        None if logical_shape == shape else logical_shape,
        dtype or None,
        layout or None,
        memory or None,
    )


def _without_absent(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return _same_tensors(tuple(tensor for tensor in tensors if tensor is not _ABSENT))


# One object for equal values: most operations repeat an earlier one.


@lru_cache(4096)
def _same_tensors(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tensors


@lru_cache(4096)
def _same_attributes(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return dict(items)


@lru_cache(4096)
def _same_counters(items: tuple[tuple[str, float], ...]) -> Mapping[str, float]:
    return dict(items)


@lru_cache(4096)
def _same_text(text: str) -> str:
    return text


READER = TenstorrentOperations()
