"""The table of ``tirlens measure --append`` (`tirlens.cli.measured_table`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tirlens.measured.reading.csv_rows import csv_rows, fields_of
from tirlens.measured.reading.numbers import number_of, seconds_of
from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record

_REQUIRED = {"file", "kernel", "call", "measured_device", "measured_s"}
_REGISTERS = "registers_per_thread"
# By ncu, in a run of its own.
_COUNTERS = ("dram_read_bytes", "dram_write_bytes", "gpu_time_s", _REGISTERS)


class TirlensTable:
    """One row for each measured kernel; its time is the median of all samples."""

    format_name = "table of tirlens measure"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the header has the columns of the table."""
        return set(fields_of(trace.first_line)) >= _REQUIRED

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """An operation for each row, with its call and prediction as attributes."""
        devices: set[str] = set()
        with trace.text() as file:
            header: list[str] = []
            for item in csv_rows(trace, file):
                if isinstance(item, Problem):
                    yield item
                    continue
                position, cells = item
                if not header or not any(cells):
                    header = header or cells
                    continue
                if len(cells) != len(header):
                    message = f"{len(cells)} fields, but {len(header)} columns: it is cut off"
                    yield Problem(position, message)
                    continue
                row = dict(zip(header, cells, strict=True))
                device = row["measured_device"]
                if device not in devices:
                    devices.add(device)
                    yield MeasuredDevice(device, device, row.get("target") or None)
                try:
                    time_s = seconds_of(row["measured_s"])
                except ValueError as error:
                    yield Problem(position, f"measured_s: {error}")
                    continue
                counters: dict[str, float] = {}
                for name in _COUNTERS:
                    try:
                        counters |= _counter(row, name)
                    except ValueError as error:
                        yield Problem(position, f"{name}: {error}")
                registers = counters.pop(_REGISTERS, None)
                yield Operation(
                    row["kernel"],
                    position,
                    device=device,
                    time_s=time_s,
                    registers=None if registers is None else int(registers),
                    attributes={name: value for name, value in row.items() if value},
                    counters=counters,
                )


def _counter(row: Mapping[str, str | None], name: str) -> dict[str, float]:
    """The counter of a column, if the row has it."""
    text = row.get(name)
    if not text:
        return {}
    value = number_of(text)
    if value < 0:
        raise ValueError(f"{text[:40]!r} is negative")
    return {name: value}


READER = TirlensTable()
