"""Traces that a command names, read as runs, with progress and the rows that are not read."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note
from tirlens.cli.output import ShowProgress
from tirlens.ide import labels
from tirlens.measured.reader import find_reader, reader_of
from tirlens.measured.records import Problem
from tirlens.measured.runs import Run, read_run
from tirlens.measured.trace_file import TraceError, open_trace

_PROGRESS_INTERVAL_S = 0.2
PROBLEM_LINES = 20
"""More rows that are not read are summed in one line."""


def traces_of(names: Sequence[str]) -> list[Path]:
    """The traces that files and folders name; other files of a folder are left out.

    Raises:
        UsageError: a name is no file or folder, or a folder has no trace.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        traces = list(_traces_in(path)) if path.is_dir() else [path]
        if not traces:
            raise UsageError(f"{name}: no trace in this folder")
        if not path.exists():
            raise UsageError(f"{name}: no such file")
        found.update(dict.fromkeys(traces))
    return list(found)


def read_run_of(path: Path, by_place: bool, show: ShowProgress) -> Run:
    """The run of a trace, with its problems on standard error.

    Raises:
        UsageError: it is no trace, or ends early.
    """
    problems: Counter[str] = Counter()

    def report(problem: Problem) -> None:
        problems["all"] += 1
        if problems["all"] <= PROBLEM_LINES:
            print_note(f"{problem.position.path}:{problem.position.row}: {problem.message}")

    try:
        trace = open_trace(path, reading(path, show))
        run = read_run(str(path), reader_of(trace).records(trace), by_place, report)
    except TraceError as error:
        raise UsageError(str(error)) from error
    if problems["all"] > PROBLEM_LINES:
        print_note(f"{path}: {problems['all'] - PROBLEM_LINES:,} more such rows")
    return run


def reading(path: Path, show: ShowProgress) -> Callable[[int, int], None]:
    """Progress of a file, shown a few times a second."""
    printed_s = 0.0

    def report(done: int, size: int) -> None:
        nonlocal printed_s
        now_s = time.monotonic()
        if now_s - printed_s >= _PROGRESS_INTERVAL_S:
            printed_s = now_s
            show(f"{path}: {labels.bytes_(done)} of {labels.bytes_(size)}")

    return report


def _traces_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            try:
                if find_reader(open_trace(path)) is not None:
                    yield path
            except TraceError as error:
                print_note(f"{error}; it is left out")
