"""CSV of ``nsys stats``: one report, or several one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from tirlens.measured.reading.csv_rows import csv_rows, fields_of, lines_of
from tirlens.measured.reading.cuda_names import device_of
from tirlens.measured.reading.nsight_systems_reports import Report, Subject, report_of, subject_of
from tirlens.measured.reading.nsight_systems_row import Header, Row
from tirlens.measured.reading.numbers import number_of
from tirlens.measured.reading.trace_file import TraceFile
from tirlens.measured.records import Operation, Position, Problem, Record

_PROCESSING = re.compile(r"Processing \[(.*?)\] with \[")
_DELIMITERS = ",\t;"


@dataclass(frozen=True)
class _Plan:
    """Which reports of a file are read, by the lines of their headers.

    Attributes
    ----------
    chosen
        What is read of each: the most detailed report of each subject of each input.
    repeated
        Those that may be of other inputs, which the file does not name.
    """

    delimiter: str
    chosen: Mapping[int, Set[Subject]]
    repeated: Set[int]


def _plan(trace: TraceFile) -> _Plan:
    """The plan, by the headers of the whole file."""
    found: dict[int, tuple[Report, str]] = {}
    source, delimiter = "", ""
    with trace.text() as file:
        for number, line in enumerate(lines_of(file), 1):
            if (processing := _PROCESSING.match(line)) is not None:
                source = processing[1]
            elif line[:1].isalpha() or line[:1] == '"':
                for candidate in delimiter or _DELIMITERS:
                    if header := report_of(fields_of(line, candidate)):
                        found[number] = header[0], source
                        delimiter = candidate
                        break
    best: dict[tuple[str, Subject], int] = {}
    for number, (report, source) in found.items():
        for subject in report.subjects:
            other = best.get((source, subject))
            if other is None or found[other][0].detail < report.detail:
                best[source, subject] = number
    chosen = {number: set[Subject]() for number in found}
    for (_, subject), number in best.items():
        chosen[number].add(subject)
    repeated = {
        number
        for number, (report, source) in found.items()
        if not source and report.subjects and not chosen[number]
    }
    return _Plan(delimiter or _DELIMITERS[0], chosen, repeated)


class NsightSystemsCsv:
    """Executions of ``cuda_gpu_trace``, or the sums of ``cuda_gpu_kern_sum`` and its relatives.

    Of several reports of the same operations, the one that says most is read.  Reports without
    operations, such as the bytes of copies, are not.
    """

    format_name = "CSV of nsys stats"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether one of the first lines is the header of a report."""
        lines = trace.head_text.splitlines()
        return any(
            report_of(fields_of(line, delimiter)) is not None
            for line in lines[:200]
            for delimiter in _DELIMITERS
            if delimiter in line
        )

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """An operation or a signpost for each row, and a device before its first operation."""
        plan = _plan(trace)
        devices: set[str] = set()
        unread: list[Problem] = []
        is_empty = True
        current: tuple[Report, Header, Set[Subject]] | None = None
        with trace.text() as file:
            for item in csv_rows(trace, file, plan.delimiter):
                if isinstance(item, Problem):
                    yield item
                    continue
                position, cells = item
                if position.row in plan.chosen and (header := report_of(cells)) is not None:
                    current = *header, plan.chosen[position.row]
                    if position.row in plan.repeated:
                        yield Problem(position, "a report of the same operations is not read")
                    elif not current[2]:
                        unread.append(Problem(position, f"is not read: {header[0].remark}"))
                elif len(cells) <= 1:
                    current = None
                elif current is None:
                    if not any(map(_is_number, cells)) and len(cells) > 3:
                        yield Problem(position, "a report that is not read: its columns are others")
                elif current[2]:
                    is_empty = False
                    yield from _records(cells, position, *current, devices)
        if is_empty:
            yield from unread


def _records(
    cells: list[str],
    position: Position,
    report: Report,
    header: Header,
    subjects: Set[Subject],
    devices: set[str],
) -> Iterator[Record]:
    """What a row says."""
    if len(cells) != header.columns:
        yield Problem(position, f"has {len(cells)} columns, its header {header.columns}")
        return
    assert report.record is not None
    try:
        record = report.record(Row(cells, header, position))
    except ValueError as error:
        yield Problem(position, str(error))
        return
    if subject_of(record) not in subjects:
        return
    if isinstance(record, Operation) and record.device and record.device not in devices:
        devices.add(record.device)
        yield device_of(record.device)
    yield record


def _is_number(text: str) -> bool:
    try:
        number_of(text)
    except ValueError:
        return False
    return True


READER = NsightSystemsCsv()
