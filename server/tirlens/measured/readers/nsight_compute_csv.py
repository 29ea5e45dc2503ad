"""CSV of ``ncu --csv``: the details page, the raw page, summaries, and the source page.

Source: NVIDIA, "Nsight Compute CLI", section "Console Output" (``--csv``, ``--page``,
``--print-units``, ``--print-metric-name``, ``--print-summary``, ``--print-source``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tirlens.measured.reading.csv_rows import csv_rows, fields_of
from tirlens.measured.reading.nsight_compute import Profile, devices_once, metric_name, unit_factor
from tirlens.measured.reading.numbers import count_of, number_of, shortened_repr
from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import MeasuredDevice, Position, Problem, Record, SourceLine

Page: TypeAlias = Literal["details", "summary", "raw", "source"]

# Columns of an execution, which are no metrics.
_IDENTITY = {
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
    "Stream", "Block Size", "Grid Size", "Device", "CC", "Invocations",
}  # fmt: skip
# Thirty years: a damaged number.
_LONGEST_S = 1e9
_NOT_MEASURED = {"", "n/a", "nan", "no data", "-"}
# Numbers that only a locale with decimal commas writes: 1.234,5 and 1.234.567 and 0,25.
_DECIMAL_COMMA = re.compile(
    r'"-?(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+,(?:\d{1,2}|\d{4,}))"'
)
# And those that only one with decimal points writes; compute capabilities have one decimal.
_DECIMAL_POINT = re.compile(r'"-?(?:\d{1,3}(?:,\d{3})+\.\d+|\d+\.(?:\d{2}|\d{4,}))"')
_DIMENSIONS = re.compile(r"\(?\s*(\d{1,10})\s*[,;]\s*(\d{1,10})\s*[,;]\s*(\d{1,10})\s*\)?$")


@dataclass(frozen=True)
class _Header:
    """The columns of a page."""

    page: Page
    names: tuple[str, ...]

    def cell(self, cells: Sequence[str], name: str) -> str:
        """A cell, empty where the row or the page does not have it."""
        index = self.names.index(name) if name in self.names else len(cells)
        return cells[index].strip() if index < len(cells) else ""


def _header_of(cells: list[str]) -> _Header | None:
    """The header that a row is, if it is one."""
    names = set(cells)
    page: Page
    if "Source" in names and not names.isdisjoint({"Address", "Line No", "#"}):
        page = "source"
    elif "Kernel Name" not in names:
        return None
    elif {"Metric Name", "Metric Unit", "Metric Value"} <= names:
        page = "details"
    elif {"Metric Name", "Metric Unit", "Average"} <= names:
        page = "summary"
    elif "ID" in names and any("__" in name for name in names):
        page = "raw"
    else:
        return None
    return _Header(page, tuple(cells))


class NsightComputeCsv:
    """An operation for each execution, and the counters of lines and instructions.

    All metrics are counters by their names, in SI base units.  Labels of the details page are
    translated to the names of their metrics; a label that is not known has its section before it.
    """

    format_name = "CSV of ncu"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether one of the first lines is the header of a page."""
        lines = trace.head_text.splitlines()
        # The last line may be cut.
        return any(
            _header_of(fields_of(line)) is not None
            for line in lines[:200]
            if line.startswith(('"', "ID,", "Process ID,", "Address,", "#,", "Line No,"))
        ) or any(_is_name_of_kernel(line) for line in lines[:20])

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The operations in the order of the file, and a device before its first operation."""
        # Text in a cell may look like the other locale's number.
        decimal_comma = bool(
            _DECIMAL_COMMA.search(trace.head_text) and not _DECIMAL_POINT.search(trace.head_text)
        )
        with trace.text() as file:
            yield from _Reading(decimal_comma).records(csv_rows(trace, file))


def _is_name_of_kernel(line: str) -> bool:
    """Whether a line begins the instructions of a kernel, whose header is in the next."""
    fields = fields_of(line)
    return fields[:1] == ["Kernel Name"] and len(fields) == 3 and not fields[2]


class _Reading:
    """The state between rows: the page, and the execution whose rows are read."""

    def __init__(self, decimal_comma: bool) -> None:
        self._decimal_comma = decimal_comma
        self._header: _Header | None = None
        self._units: tuple[str, ...] | None = None
        self._profile: Profile | None = None
        self._key: tuple[str, ...] = ()
        self._devices = set[MeasuredDevice]()
        self._unknown_units = set[str]()
        self._place: dict[str, str] = {}
        self._line: int | None = None
        self._executions = 0

    def records(self, rows: Iterator[tuple[Position, list[str]] | Problem]) -> Iterator[Record]:
        read: Mapping[Page, Callable[[_Header, Position, list[str]], Iterator[Record]]] = {
            "details": self._details,
            "summary": self._summary,
            "raw": self._raw,
            "source": self._source,
        }
        for item in rows:
            if isinstance(item, Problem):
                yield item
                continue
            position, cells = item
            if not cells or cells[0].startswith("=="):
                continue
            if (header := _header_of(cells)) is not None:
                yield from self._finish()
                self._header, self._units = header, None
            elif cells[0] in ("Kernel Name", "File Path", "Function Name") and len(cells) <= 3:
                if cells[0] != "Function Name":
                    self._place.clear()
                self._executions += cells[0] == "Kernel Name"
                self._place[cells[0]] = cells[1] if len(cells) > 1 else ""
            elif self._header is not None:
                if len(cells) > len(self._header.names):
                    count = len(self._header.names)
                    yield Problem(position, f"has {len(cells)} columns, its header {count}")
                else:
                    yield from read[self._header.page](self._header, position, cells)
        yield from self._finish()

    def _finish(self) -> Iterator[Record]:
        """The execution whose rows have ended."""
        if self._profile is not None:
            yield from devices_once(self._profile, self._devices)
            yield self._profile.operation()
        self._profile = None

    def _begin(self, header: _Header, position: Position, cells: list[str]) -> Iterator[Problem]:
        profile = Profile(
            header.cell(cells, "Kernel Name"),
            position,
            device_index=header.cell(cells, "Device") or None,
            stream=header.cell(cells, "Stream") or None,
            compute_capability=header.cell(cells, "CC") or None,
        )
        for name in ("Grid Size", "Block Size"):
            text = header.cell(cells, name)
            match = _DIMENSIONS.match(text)
            if match is None:
                if text:
                    yield Problem(position, f"{name}: {text[:40]!r} is not three numbers")
                continue
            dimensions = int(match[1]), int(match[2]), int(match[3])
            if name == "Grid Size":
                profile.grid = dimensions
            else:
                profile.block = dimensions
        self._profile = profile

    def _details(self, header: _Header, position: Position, cells: list[str]) -> Iterator[Record]:
        """One metric of one execution, or what a rule says of it."""
        yield from self._same(header, position, cells, ("ID", "Process ID", "Kernel Name"))
        rule = header.cell(cells, "Rule Name")
        if rule and self._profile is not None:
            self._profile.words[rule] = header.cell(cells, "Rule Description")
        label, unit = header.cell(cells, "Metric Name"), header.cell(cells, "Metric Unit")
        if label:
            name = metric_name(header.cell(cells, "Section Name"), label, unit)
            yield from self._metric(position, name, unit, header.cell(cells, "Metric Value"))

    def _summary(self, header: _Header, position: Position, cells: list[str]) -> Iterator[Record]:
        """One metric of all executions of a kernel, as minimum, maximum and average."""
        key = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "Stream")
        yield from self._same(header, position, cells, key)
        label, unit = header.cell(cells, "Metric Name"), header.cell(cells, "Metric Unit")
        name = metric_name(header.cell(cells, "Section Name"), label, unit)
        yield from self._metric(position, name, unit, header.cell(cells, "Average"))
        profile = self._profile
        if profile is None:
            return
        try:
            profile.executions = max(1, count_of(header.cell(cells, "Invocations") or "1"))
            if name == "gpu__time_duration.sum":
                factor = unit_factor(unit) or 1.0
                shortest_s = self._number(header.cell(cells, "Minimum")) * factor
                longest_s = self._number(header.cell(cells, "Maximum")) * factor
                if not 0 <= shortest_s <= longest_s:
                    raise ValueError("the minimum is negative, or more than the maximum")
                profile.min_s, profile.max_s = shortest_s, longest_s
        except ValueError as error:
            yield Problem(position, f"{name}: {error}")

    def _same(
        self, header: _Header, position: Position, cells: list[str], key: Sequence[str]
    ) -> Iterator[Record]:
        """Go on with an execution, or end it and begin the one that the row is of."""
        values = tuple(header.cell(cells, name) for name in key)
        if self._profile is None or values != self._key:
            yield from self._finish()
            self._key = values
            yield from self._begin(header, position, cells)

    def _raw(self, header: _Header, position: Position, cells: list[str]) -> Iterator[Record]:
        """One execution; the first row has the units."""
        if self._units is None:
            self._units = tuple(cells)
            if not header.cell(cells, "ID"):
                return
            # Without units the values are in base units (--print-units base without a row of them).
            self._units = ()
        yield from self._begin(header, position, cells)
        for index, (name, value) in enumerate(zip(header.names, cells, strict=False)):
            if name not in _IDENTITY:
                unit = self._units[index] if index < len(self._units) else ""
                yield from self._metric(position, name, unit, value.strip())
        yield from self._finish()

    def _metric(self, position: Position, name: str, unit: str, text: str) -> Iterator[Problem]:
        profile = self._profile
        if profile is None or text.lower() in _NOT_MEASURED:
            return
        try:
            value = self._number(text)
        except ValueError as error:
            if text[:1].isdigit() and unit:
                yield Problem(position, f"{name}: {error}")
            else:
                profile.words[name] = text
            return
        factor = unit_factor(unit)
        if factor is None and unit not in self._unknown_units:
            self._unknown_units.add(unit)
            yield Problem(
                position,
                f"{name}: the unit {shortened_repr(unit)} is not known, its values are kept",
            )
        value *= factor or 1.0
        if name == "gpu__time_duration.sum" and not 0 <= value < _LONGEST_S:
            yield Problem(
                position, f"{name}: {shortened_repr(text)} {unit} is no duration of a kernel"
            )
            return
        profile.metrics[name] = value

    def _source(self, header: _Header, position: Position, cells: list[str]) -> Iterator[Record]:
        """The counters of one line or one instruction."""
        counters: dict[str, float] = {}
        words: dict[str, str] = {}
        for name, text in zip(header.names, map(str.strip, cells), strict=False):
            if name in ("Source", "Address", "Line No", "#") or text.lower() in _NOT_MEASURED:
                continue
            try:
                counters[name] = self._number(text)
            except ValueError:
                words[name] = text
        number = header.cell(cells, "Line No")
        if number.isdecimal() and len(number) < 10:
            self._line = int(number)
        elif "Line No" not in header.names:
            self._line = None
        address = _address(header.cell(cells, "Address"))
        texts = [cell for name, cell in zip(header.names, cells, strict=False) if name == "Source"]
        yield SourceLine(
            self._place.get("Function Name") or self._place.get("Kernel Name") or "",
            position,
            texts[-1 if address is not None else 0].rstrip() if texts else "",
            execution=self._executions if "Kernel Name" in self._place else None,
            file=self._place.get("File Path"),
            line=self._line,
            address=address,
            counters=counters,
            attributes=words,
        )

    def _number(self, text: str) -> float:
        return number_of(text, self._decimal_comma)


def _address(text: str) -> int | None:
    try:
        return int(text, 16 if text.startswith("0x") else 10)
    except ValueError:
        return None


READER = NsightComputeCsv()
