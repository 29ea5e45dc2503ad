"""The traces that a command names, and the progress of their reading."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note
from tirlens.cli.output import ShowProgress
from tirlens.ide import labels
from tirlens.measured.reading.reader import find_reader
from tirlens.measured.reading.trace_file import TraceError, open_trace

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
