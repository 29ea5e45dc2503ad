"""A trace that has been read: its operations with what else its file says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tirlens.measured.reading.folding import Folding
from tirlens.measured.reading.reader import reader_of
from tirlens.measured.reading.trace_file import open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Signpost, SourceLine


@dataclass(frozen=True)
class Trace:
    """The records of one file, by their kinds, in the order of the file.

    Of a trace with very many operations, `operations` are sums by kernel within sections, and
    `summed` is their number in the file (`tirlens.measured.reading.folding`).
    """

    path: Path
    format_name: str
    operations: tuple[Operation, ...]
    signposts: tuple[Signpost, ...]
    devices: tuple[MeasuredDevice, ...]
    problems: tuple[Problem, ...]
    source_lines: tuple[SourceLine, ...] = ()
    summed: int = 0


def read_trace(path: Path, progress: Callable[[int, int], None] = lambda done, size: None) -> Trace:
    """Read a file of any format.

    Parameters
    ----------
    progress
        Called with the bytes read so far and the bytes of the file.

    Raises
    ------
    TraceError
        It is no trace, or ends where it should not.
    """
    file = open_trace(path, progress)
    reader = reader_of(file)
    folding = Folding()
    signposts: list[Signpost] = []
    devices: list[MeasuredDevice] = []
    problems: list[Problem] = []
    source_lines: list[SourceLine] = []
    for record in reader.records(file):
        match record:
            case Operation():
                folding.add(record)
            case Signpost():
                problem = folding.add_signpost(record)
                if problem is None:
                    signposts.append(record)
                else:
                    problems.append(problem)
            case MeasuredDevice():
                devices.append(record)
            case Problem():
                problems.append(record)
            case SourceLine():
                source_lines.append(record)
    return Trace(
        path,
        reader.format_name,
        tuple(folding.operations()),
        tuple(signposts),
        tuple(devices),
        tuple(problems),
        tuple(source_lines),
        folding.summed,
    )
