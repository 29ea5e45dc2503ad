"""The reports of TVM's profiler: ``Report.csv()`` and ``Report.json()`` of `tvm.runtime.profiling`.

Source: apache-tvm to 0.24, ``src/runtime/profiling.cc``, ``ReportNode::AsCSV`` and ``AsJSON``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tirlens.measured.reading.csv_rows import csv_rows, fields_of
from tirlens.measured.reading.json_window import JsonWindow, MalformedValueError
from tirlens.measured.reading.numbers import number_of, seconds_of
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import Operation, Position, Problem, Record, Tensor

_JSON = re.compile(r'\s*\{\s*"calls"\s*:\s*\[')
_TIME = "Duration (us)"
_REQUIRED = {"Name", _TIME, "Count", "Percent"}
_SHAPE = re.compile(r"([a-z]\w*)\[((?:\d+(?: *, *\d+)*)?,? *)\]")
# What the virtual machine does itself: it allocates, reshapes and dispatches on the host.
_BUILTIN = "vm.builtin."


class TvmReport:
    """One operation for each call; TVM waits for the device before and after each."""

    format_name = "report of TVM's profiler (CSV or JSON)"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the text is an object with calls, or has a header with the report's columns."""
        return _is_json(trace) or set(fields_of(trace.first_line)) >= _REQUIRED

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The calls in the order of the report."""
        yield from _json_records(trace) if _is_json(trace) else _csv_records(trace)


def _is_json(trace: TraceFile) -> bool:
    return _JSON.match(trace.head_text) is not None


def _csv_records(trace: TraceFile) -> Iterator[Record]:
    with trace.text() as file:
        header: list[str] = []
        for row in csv_rows(trace, file):
            if isinstance(row, Problem):
                yield row
                continue
            position, fields = row
            if not any(fields):
                continue
            if not header:
                header = fields
            elif len(fields) != len(header):
                message = f"{len(fields)} fields, but {len(header)} columns: the row is cut off"
                yield Problem(position, message)
            else:
                yield _record(dict(zip(header, fields, strict=True)), position)


def _json_records(trace: TraceFile) -> Iterator[Record]:
    path, number = str(trace.path), 0
    with trace.binary() as file:
        window = JsonWindow(file, trace.encoding)
        try:
            for key in window.members():
                if key != "calls" or window.peek() != "[":
                    window.skip()
                    continue
                for number, call in enumerate(window.elements(), 1):
                    position = Position(path, number)
                    if isinstance(call, MalformedValueError):
                        yield Problem(position, f"the call {call}")
                    elif not isinstance(call, dict):
                        yield Problem(position, "the call is no object")
                    else:
                        yield _record(_plain(cast(dict[str, Any], call)), position)
        except (TraceError, MalformedValueError) as error:
            position = Position(path, max(number, 1))
            yield Problem(position, f"the report {error}; calls up to here are read")


def _plain(call: dict[str, Any]) -> dict[str, str]:
    """The values without their units: ``{"microseconds": 12.3}`` as ``12.3``."""
    return {name: _value(value) for name, value in call.items()}


def _value(value: Any) -> str:
    if isinstance(value, dict) and len(cast(dict[str, Any], value)) == 1:
        (value,) = cast(dict[str, Any], value).values()
    text = "" if value is None or isinstance(value, dict | list) else str(value)
    return text.encode("utf-8", "replace").decode()


def _record(call: Mapping[str, str], position: Position) -> Record:
    name = call.get("Name") or "(no name)"
    try:
        time_s = seconds_of(call.get(_TIME, ""), 1e-6)
        count = number_of(call.get("Count") or "1")
        if count < 1 or count != int(count) or count > 1e15:
            raise ValueError(f"Count: {call['Count'][:40]!r} is no number of executions")
    except ValueError as error:
        return Problem(position, str(error))
    attributes: dict[str, str] = {}
    counters: dict[str, float] = {}
    for column, value in call.items():
        if column in _REQUIRED or column in ("Device", "Argument Shapes") or not value:
            continue
        try:
            counters[column] = number_of(value)
        except ValueError:
            attributes[column] = value
    is_host = name.startswith(_BUILTIN)
    return Operation(
        name,
        position,
        kind="host" if is_host else "kernel",
        device=call.get("Device") or None,
        time_s=None if is_host else time_s,
        host_time_s=time_s if is_host else None,
        executions=int(count),
        inputs=_tensors(call.get("Argument Shapes", "")),
        attributes=attributes,
        counters=counters,
    )


def _tensors(shapes: str) -> tuple[Tensor, ...]:
    """The arguments, results included: ``float32[1, 64], int32[]``."""
    return tuple(
        Tensor(tuple(int(size) for size in found[2].split(",") if size.strip()), dtype=found[1])
        for found in _SHAPE.finditer(shapes[:10_000])
        if len(found[2]) < 100
    )


READER = TvmReport()
