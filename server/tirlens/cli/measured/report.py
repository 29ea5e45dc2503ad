"""``tirlens report --measured``: the operations that traces of profilers have."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rich.console import Console

from tirlens.captured.names import is_capture
from tirlens.cli.errors import UsageError
from tirlens.cli.measured import advice as measured_advice
from tirlens.cli.measured import kernel_lines, matched_report, measured_page
from tirlens.cli.measured import lines as measured_lines
from tirlens.cli.measured import operations as measured_operations
from tirlens.cli.measured import step as measured_step
from tirlens.cli.measured import summary as measured_summary
from tirlens.cli.measured.selection import select
from tirlens.cli.measured.trace_reading import PROBLEM_LINES, reading
from tirlens.cli.measured.workspace_matches import WorkspaceMatches, match_workspace
from tirlens.cli.outcome import print_note
from tirlens.cli.output import console, progress, stream, write_json
from tirlens.cli.rows import selection
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.reading.reader import find_reader
from tirlens.measured.reading.trace import Trace, read_trace
from tirlens.measured.reading.trace_file import TraceError, open_trace

_SOURCE_SUFFIXES = (".py", ".ipynb")


class _Part(NamedTuple):
    """A part of the report: how it is printed, and its keys in the JSON."""

    show: Callable[[argparse.Namespace, Console], None]
    data: Callable[[argparse.Namespace], dict[str, Any]]


def _parts(report: MeasuredReport, matches: WorkspaceMatches | None) -> list[_Part]:
    """The parts in their order; each file with a part has a `show` and a `data`.

    `matches` is None where no kernels are named beside the traces.
    """

    def of_report(module: Any) -> _Part:
        return _Part(partial(module.show, report), partial(module.data, report))

    found = [of_report(measured_operations), of_report(measured_summary)]
    if matches is not None:
        found.append(
            _Part(partial(matched_report.show, matches), partial(matched_report.data, matches))
        )
    step = measured_step.measured_step(report, matches)
    found.append(_Part(partial(measured_step.show, step), partial(measured_step.data, step)))
    if matches is not None and matches.sampled:
        sampled = matches.sampled
        found.append(
            _Part(partial(kernel_lines.show, sampled), partial(kernel_lines.data, sampled))
        )
    return [*found, of_report(measured_lines), of_report(measured_advice)]


def take_traces(arguments: argparse.Namespace) -> list[Path]:
    """The traces among the files of a command; all but files of kernels with ``--measured``."""
    is_measured = arguments.measured is not None
    arguments.files += arguments.measured or []
    if not arguments.files:
        raise UsageError("no file is named")
    paths = [Path(name) for name in arguments.files]
    if is_measured:
        return [path for path in paths if not _has_kernels(path)]
    return [path for path in paths if _is_trace(path)]


def execute(arguments: argparse.Namespace, paths: Sequence[Path]) -> int:
    """Read, print, and give the exit status: 1 where a trace or a row of it is not read."""
    if not paths:
        raise UsageError("--measured: no trace is named")
    if arguments.id_range is not None:
        selection(0.0, arguments.id_range.replace(",", ""))
    traces, errors = read_traces(paths)
    for error in errors:
        print_note(str(error))
    if not traces:
        return 2
    sources = tuple(Path(name) for name in arguments.files if Path(name) not in paths)
    report = select(traces, sources, arguments)
    matches = match_workspace(report, arguments) if sources else None
    if matches is not None:
        matched_report.record(report, matches, arguments)
    _write(report, matches, arguments)
    for note in report.notes:
        print_note(note)
    has_problems = print_problems(traces)
    return 1 if errors or has_problems else 0


def _write(
    report: MeasuredReport, matches: WorkspaceMatches | None, arguments: argparse.Namespace
) -> None:
    if arguments.csv is not None:
        with stream(arguments.csv) as file:
            measured_operations.write_csv(file, report)
    if arguments.summary_file is not None:
        with stream(arguments.summary_file) as file:
            measured_summary.write_csv(file, report, arguments)
    if arguments.html is not None:
        with stream(arguments.html) as file:
            file.write(measured_page.page(report, matches, arguments))
    with stream(arguments.output) as file:
        if arguments.format == "csv":
            measured_operations.write_csv(file, report)
        elif arguments.format == "json":
            _write_json(file, report, matches, arguments)
        else:
            out = console(file, arguments.color)
            for part in _parts(report, matches):
                part.show(arguments, out)


def _write_json(
    file: TextIO,
    report: MeasuredReport,
    matches: WorkspaceMatches | None,
    arguments: argparse.Namespace,
) -> None:
    document: dict[str, Any] = {"schema_version": 1}
    for part in _parts(report, matches):
        document |= part.data(arguments)
    document["problems"] = [
        {
            "file": problem.position.path,
            "row": problem.position.row,
            "message": problem.message,
        }
        for trace in report.traces
        for problem in trace.problems
    ]
    write_json(file, document)


def read_traces(paths: Sequence[Path]) -> tuple[list[Trace], list[TraceError]]:
    """The traces, and why others are none."""
    traces: list[Trace] = []
    errors: list[TraceError] = []
    with progress() as show:
        for path in paths:
            try:
                traces.append(read_trace(path, reading(path, show)))
            except TraceError as error:
                errors.append(error)
    return traces, errors


def print_problems(traces: Sequence[Trace]) -> bool:
    """Print the rows that are not read on standard error; whether there are any."""
    for trace in traces:
        for problem in trace.problems[:PROBLEM_LINES]:
            print_note(f"{problem.position.path}:{problem.position.row}: {problem.message}")
        if len(trace.problems) > PROBLEM_LINES:
            print_note(f"{trace.path}: {len(trace.problems) - PROBLEM_LINES:,} more such rows")
        if trace.summed:
            rows = len(trace.operations)
            message = f"{trace.summed:,} operations are summed by kernel and section: {rows:,} rows"
            print_note(f"{trace.path}: {message}")
    return any(trace.problems for trace in traces)


def _has_kernels(path: Path) -> bool:
    """Whether a named file or folder is of kernels, or of their captured calls."""
    return path.suffix in _SOURCE_SUFFIXES or path.is_dir() or is_capture(path)


def _is_trace(path: Path) -> bool:
    if path.suffix in _SOURCE_SUFFIXES or not path.is_file():
        return False
    try:
        return find_reader(open_trace(path)) is not None
    except TraceError:
        return False
