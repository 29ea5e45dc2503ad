"""``tirlens compare --measured``: two runs, operation by operation, and the verdict of the gate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tirlens.cli import change_report, outcome
from tirlens.cli.errors import UsageError
from tirlens.cli.measured.changes import formats
from tirlens.cli.measured.changes.report import DEFAULT_MIN_PERCENTAGE, MeasuredChangeReport
from tirlens.cli.measured.places import KernelPlaces, find_places
from tirlens.cli.measured.report import print_problems, read_traces
from tirlens.cli.measured.selection import section_of
from tirlens.cli.measured.trace_reading import traces_of
from tirlens.cli.output import stream
from tirlens.gate import Limits, limits_of
from tirlens.gate.measured_changes import measured_changes
from tirlens.ide import labels
from tirlens.measured.reading.trace import Trace
from tirlens.measured.runs.comparison import Comparison, TooLongError, compare
from tirlens.measured.runs.run import Run, run_of
from tirlens.settings import Settings

_SUFFIXES = {**change_report.SUFFIXES, ".csv": "csv", ".html": "html"}


def execute(arguments: argparse.Namespace) -> int:
    """Compare the runs that the options name, and give the exit status."""
    _check(arguments)
    written = [(name, change_report.format_of(name, _SUFFIXES)) for name in arguments.write]
    old_names, new_names = _sides(arguments)
    given = arguments.fail_above or _project_limits(arguments)
    limits = _limits(given)
    old, new = _traces(old_names), _traces(new_names)
    try:
        comparison = compare(_runs(old, arguments), _runs(new, arguments))
    except TooLongError as error:
        raise UsageError(f"--each: {error}; without it, one row has all executions") from error
    places = None
    if arguments.files:
        places = find_places([*old, *new], arguments)
        comparison = _of_files(comparison, places)
    report = MeasuredChangeReport(
        comparison,
        tuple(measured_changes(comparison, limits)),
        limits,
        tuple(given),
        arguments.allow_uncompared,
        _least_share(arguments),
        arguments.each,
        {} if places is None else places.by_position,
    )
    for note in (*report.notes, *(places.notes if places else ())):
        outcome.print_note(note)
    with stream(arguments.output) as out:
        formats.write(out, report, arguments.format, arguments.color)
    for name, kind in written:
        with stream(name) as out:
            formats.write(out, report, kind, False)
    return outcome.LIMIT_EXCEEDED if report.refused else 0


def _check(arguments: argparse.Namespace) -> None:
    others = {"--base": arguments.base}
    if not arguments.files:
        others |= {
            "--call": arguments.call, "--kernel": arguments.kernel, "--bind": arguments.bind,
        }  # fmt: skip
    for name, value in others.items():
        if value:
            needs = "two comparisons" if name == "--base" else "not of measured runs without a FILE"
            raise UsageError(f"{name} and --measured are {needs}")
    if arguments.allow_uncompared and not (arguments.fail_above or arguments.measured_base):
        raise UsageError("--allow-uncompared needs --fail-above")


def _sides(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The traces before and now: OLD and NEW of ``--measured``, or those of both options."""
    if arguments.measured_base:
        if not arguments.measured:
            raise UsageError("--measured-base needs --measured NEW")
        return arguments.measured_base, arguments.measured
    if len(arguments.measured) != 2:
        raise UsageError(
            "--measured takes OLD and NEW; of several runs a side give folders, or "
            "--measured NEW... --measured-base OLD..."
        )
    old, new = arguments.measured
    return [old], [new]


def _traces(names: Sequence[str]) -> list[Trace]:
    """The traces of one side, of which each is a run.

    Raises:
        UsageError: one cannot be read.
    """
    traces, errors = read_traces(traces_of(names))
    print_problems(traces)
    if errors:
        raise UsageError(str(errors[0]))
    return traces


def _runs(traces: Sequence[Trace], arguments: argparse.Namespace) -> list[Run]:
    """The section of each trace that counts.

    Raises:
        UsageError: it has no operation of a device.
    """
    runs: list[Run] = []
    notes: list[str] = []
    for trace in traces:
        section = section_of(trace, arguments, notes)
        run = run_of(str(trace.path), section.operations, trace.devices, arguments.each)
        if not run.operations:
            raise UsageError(f"{trace.path}: has no operation of a device")
        runs.append(run)
    for note in notes:
        outcome.print_note(note)
    return runs


def _of_files(comparison: Comparison, places: KernelPlaces) -> Comparison:
    """The operations that are executions of the files' kernels.

    Raises:
        UsageError: there is none.
    """
    changes = tuple(
        change
        for change in comparison.changes
        if any(side and places.has(side.first.position) for side in (change.before, change.now))
    )
    if not changes:
        raise UsageError("no operation of the runs is matched with a kernel of these files")
    count = len(comparison.changes) - len(changes)
    if count:
        text = labels.count(count, "operation")
        verb = "is" if count == 1 else "are"
        outcome.print_note(f"{text} of the runs {verb} of no kernel of these files: not compared")
    return replace(comparison, changes=changes)


def _project_limits(arguments: argparse.Namespace) -> Sequence[str]:
    """The limits of the project, where a baseline makes the comparison a gate."""
    if not arguments.measured_base:
        return ()
    project, wrong = Settings.from_pyproject(Path.cwd())
    for message in wrong:
        outcome.print_note(message)
    return project.fail_above


def _limits(texts: Sequence[str]) -> Limits:
    try:
        return limits_of(texts)
    except ValueError as error:
        raise UsageError(f"--fail-above {error}") from error


def _least_share(arguments: argparse.Namespace) -> float:
    """The share of a run's time below which the table leaves an operation out."""
    percentage = arguments.min_percentage
    if percentage is None:
        percentage = 0.0 if arguments.each else DEFAULT_MIN_PERCENTAGE
    return percentage / 100
