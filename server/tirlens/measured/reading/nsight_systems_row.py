"""Rows of the reports of ``nsys stats``: cells by the names of their columns, in SI units.

Versions differ in the names of columns.  Times are in the unit that the header names
(``--timeunit``), nanoseconds where it names none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tirlens.measured.reading.numbers import count_of, number_of, seconds_of
from tirlens.measured.records import Position

_COLUMN = re.compile(r"\s*(.*?)\s*(?:\(([^()]*)\))?\s*$")
_UNITS_S = {
    "ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0,
    "sec": 1.0,
}  # fmt: skip
# Names before version 2022.1, and those of one report for another's.
_RENAMED = {
    "Average": "Avg", "Minimum": "Min", "Maximum": "Max", "Operations": "Count",
    "Calls": "Num Calls", "CorrID": "CorrId",
}  # fmt: skip


@dataclass(frozen=True)
class Header:
    """The columns of a report: where they are, and their units, which may be empty."""

    indices: Mapping[str, int]
    units: Mapping[str, str]
    usual_unit_s: float
    columns: int

    @staticmethod
    def of(fields: Sequence[str]) -> Header:
        """The header that the fields of a line are."""
        names = column_names(fields)
        columns = [_COLUMN.fullmatch(field) for field in fields]
        units = [column[2] or "" if column else "" for column in columns]
        usual_s = next((_UNITS_S[unit] for unit in units if unit in _UNITS_S), 1e-9)
        indices = {name: index for index, name in enumerate(names)}
        return Header(indices, dict(zip(names, units, strict=True)), usual_s, len(names))


def column_names(fields: Sequence[str]) -> list[str]:
    """The names of the columns of a header as the present version writes them, without units."""
    columns = [_COLUMN.fullmatch(field) for field in fields]
    names = [column[1] if column else "" for column in columns]
    return [_RENAMED.get(name, name) for name in names]


@dataclass(frozen=True)
class Row:
    """A row of a report; its values raise `ValueError` with the name of the column."""

    cells: list[str]
    header: Header
    position: Position

    def text(self, name: str) -> str | None:
        """What the cell says; None if it is empty or there is no such column."""
        index = self.header.indices.get(name)
        return None if index is None else self.cells[index].strip() or None

    def seconds(self, name: str) -> float | None:
        """A duration.  What a coarse unit rounds to zero is not known."""
        text = self.text(name)
        if text is None:
            return None
        unit_s = self._unit_s(name)
        try:
            value = seconds_of(text, unit_s)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return None if value == 0 and unit_s > 1e-9 else value

    def moment(self, name: str) -> float | None:
        """A time stamp, which is negative before the trace begins."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return number_of(text) * self._unit_s(name)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def count(self, name: str) -> int | None:
        """A whole number of things."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return count_of(text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def dimensions(self, *names: str) -> tuple[int, int, int] | None:
        """Blocks or threads, in three columns or in one with three numbers."""
        words = " ".join([self.text(name) or "" for name in names])
        try:
            return _dimensions(words)
        except ValueError as error:
            raise ValueError(f"{names[0]}: {error}") from None

    def attributes(self, *names: str) -> dict[str, str]:
        """The cells that are not empty, with their units, by their names."""
        return {
            name: f"{text} {unit}" if (unit := self.header.units[name]) else text
            for name in names
            if (text := self.text(name))
        }

    def _unit_s(self, name: str) -> float:
        """The unit of a time, which early versions name at the total alone."""
        return _UNITS_S.get(self.header.units[name], self.header.usual_unit_s)


@lru_cache(4096)
def _dimensions(text: str) -> tuple[int, int, int] | None:
    words = text.split()
    if not words:
        return None
    x, y, z = map(count_of, words)
    return x, y, z
