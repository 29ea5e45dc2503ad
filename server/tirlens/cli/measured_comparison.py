"""``tirlens compare --measured``: two runs, operation by operation, and the verdict of the gate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tirlens.cli import change_report, measured_change_report, outcome
from tirlens.cli.errors import UsageError
from tirlens.cli.measured_report import print_problems, read_traces
from tirlens.cli.measured_selection import section_of
from tirlens.cli.output import stream
from tirlens.cli.trace_reading import traces_of
from tirlens.gate import Limits, limits_of
from tirlens.gate.measured_changes import measured_changes
from tirlens.measured.comparison import TooLongError, compare
from tirlens.measured.runs import Run, run_of
from tirlens.settings import Settings

_SUFFIXES = {**change_report.SUFFIXES, ".csv": "csv"}


def execute(arguments: argparse.Namespace) -> int:
    """Compare the runs that the options name, and give the exit status."""
    _check(arguments)
    written = [(name, change_report.format_of(name, _SUFFIXES)) for name in arguments.write]
    old_names, new_names = _sides(arguments)
    given = arguments.fail_above or _project_limits(arguments)
    limits = _limits(given)
    before = _runs(old_names, arguments)
    now = _runs(new_names, arguments)
    try:
        comparison = compare(before, now)
    except TooLongError as error:
        raise UsageError(f"--each: {error}; without it, one row has all executions") from error
    report = measured_change_report.MeasuredChangeReport(
        comparison,
        tuple(measured_changes(comparison, limits)),
        limits,
        tuple(given),
        arguments.allow_uncompared,
        _least_share(arguments),
        arguments.each,
    )
    for note in report.notes:
        outcome.print_note(note)
    with stream(arguments.output) as out:
        measured_change_report.write(out, report, arguments.format, arguments.color)
    for name, kind in written:
        with stream(name) as out:
            measured_change_report.write(out, report, kind, False)
    return outcome.LIMIT_EXCEEDED if report.refused else 0


def _check(arguments: argparse.Namespace) -> None:
    others = {
        "--base": arguments.base, "--device": arguments.device, "--call": arguments.call,
        "--kernel": arguments.kernel, "--bind": arguments.bind,
    }  # fmt: skip
    for name, value in others.items():
        if value:
            raise UsageError(f"{name} and --measured are two comparisons: give one of them")
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


def _runs(names: Sequence[str], arguments: argparse.Namespace) -> list[Run]:
    """The runs of one side: the section of each trace that counts.

    Raises:
        UsageError: a trace cannot be read, or has no operation of a device in its section.
    """
    traces, errors = read_traces(traces_of(names))
    print_problems(traces)
    if errors:
        raise UsageError(str(errors[0]))
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
        percentage = 0.0 if arguments.each else measured_change_report.DEFAULT_MIN_PERCENTAGE
    return percentage / 100
