"""Rows of comma-separated text in constant memory, whatever the text is."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import Position, Problem

# A longer line is read in parts, none of which has the columns of a row.
_LINE_CHARACTERS = 16 << 20


def csv_rows(
    trace: TraceFile, file: TextIO, delimiter: str = ","
) -> Iterator[tuple[Position, list[str]] | Problem]:
    """The rows with the numbers of their lines; empty lines are empty rows.

    A row that is none, such as one with a quote that does not end, becomes a problem, and the next
    line begins a new one.
    """
    rows = csv.reader(lines_of(file), delimiter=delimiter)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Problem(Position(str(trace.path), rows.line_num), f"no row of a CSV: {error}")
        else:
            yield Position(str(trace.path), rows.line_num), row


def lines_of(file: TextIO) -> Iterator[str]:
    """The lines of a text, those of unusual length in parts."""
    while line := file.readline(_LINE_CHARACTERS):
        # Python 3.10's csv does not read on after it.
        yield line.replace("\0", "\ufffd")


def fields_of(line: str, delimiter: str = ",") -> list[str]:
    """The fields of one line, none if it is no row."""
    try:
        return next(iter(csv.reader([line], delimiter=delimiter)))
    except (csv.Error, StopIteration):
        return []
