"""The table of ``tirlens measure --append`` (`tirlens.cli.measured_table`)."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from tirlens.measured.numbers import seconds_of
from tirlens.measured.records import MeasuredDevice, Operation, Position, Problem, Record
from tirlens.measured.trace_file import TraceFile

_REQUIRED = {"file", "kernel", "call", "measured_device", "measured_s"}


class TirlensTable:
    """One row for each measured kernel; its time is the median of all samples."""

    format_name = "table of tirlens measure"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the header has the columns of the table."""
        return set(trace.first_line.split(",")) >= _REQUIRED

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """An operation for each row, with its call and prediction as attributes."""
        devices: set[str] = set()
        with trace.text() as file:
            rows = csv.DictReader(file)
            for number, row in enumerate(rows, 2):
                position = Position(str(trace.path), number)
                device = row["measured_device"]
                if device not in devices:
                    devices.add(device)
                    yield MeasuredDevice(device, device, row.get("target") or None)
                try:
                    time_s = seconds_of(row["measured_s"])
                except ValueError as error:
                    yield Problem(position, f"measured_s: {error}")
                    continue
                yield Operation(
                    row["kernel"],
                    position,
                    device=device,
                    time_s=time_s,
                    attributes={name: value for name, value in row.items() if value},
                )


READER = TirlensTable()
