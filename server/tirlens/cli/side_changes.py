"""The changes of kernels between two sides of some files, written with the verdict of the gate."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from tirlens.cli import change_report, file_analysis, outcome
from tirlens.cli.errors import UsageError
from tirlens.cli.output import stream
from tirlens.cli.sides import Sides
from tirlens.cli.traced_file import Traced
from tirlens.gate import Change, Limits, changes, limits_of, with_moves
from tirlens.pipeline import FileReport

Explain = Callable[[Sides, Sequence[Change], Mapping[str, object]], Sequence[Change]]
"""The changes of a file with more to say of each: from its sides and the options of its reports."""


def check_options(arguments: argparse.Namespace) -> None:
    """Check the limits and the files to write, before anything is analysed.

    Raises:
        UsageError: one has no form that is known.
    """
    for name in arguments.write:
        change_report.format_of(name)
    _limits(arguments.fail_above)


def write_changes(
    arguments: argparse.Namespace,
    files: Sequence[Sides],
    names: tuple[str, str],
    explain: Explain | None = None,
) -> int:
    """Write what the options ask for, and give the exit status.

    `names` are those of the side before and of the present one.
    """
    given = arguments.fail_above or _project_limits([sides.now for sides in files])
    limits = _limits(given)
    all_changes: list[Change] = []
    reports: list[FileReport] = []
    before: list[FileReport] = []
    # Devices that are compared take precedence over those of the text and the project.
    several = len(arguments.device) > 1
    for device in arguments.device if several else [None]:
        options = {"device": device, "force_device": True} if several else {}
        found: list[Change] = []
        now_reports: dict[str, FileReport] = {}
        for sides in files:
            now, old = sides.reports(**options)
            now_reports[now.path] = now
            of_file: Sequence[Change] = changes(old, now, limits)
            if explain is not None and old is not None:
                of_file = explain(sides, of_file, options)
            found += map(sides.in_cells, of_file)
            reports.append(_in_cells(now, sides.now))
            before += [_in_cells(old, sides.before)] if old and sides.before else []
        all_changes += with_moves(found, now_reports, limits)
    report = change_report.ChangeReport(
        names,
        all_changes,
        limits,
        tuple(given),
        reports,
        before,
        arguments.allow_uncompared,
        tuple(arguments.diff),
    )
    with stream(arguments.output) as out:
        change_report.write(out, report, arguments.format, arguments.color)
    for name in arguments.write:
        with stream(name) as out:
            change_report.write(out, report, change_report.format_of(name), False)
    outcome.print_problems(reports[: len(files)])
    return _status(report)


def _status(report: change_report.ChangeReport) -> int:
    before, now = report.before, report.now
    if report.refused:
        return outcome.LIMIT_EXCEEDED
    if not report.limits:
        return outcome.status([*before, *now])
    # A file that could not be analysed before, either, is not due to this change.
    known = {file.path for file in before}
    new = any(file.problems and file.path not in known for file in now)
    return 1 if new or any("failed" in change.verdicts for change in report.changes) else 0


def _in_cells(report: FileReport, traced: Traced) -> FileReport:
    return file_analysis.in_cells([traced], [report])[0]


def _project_limits(traced: Sequence[Traced]) -> Sequence[str]:
    """The limits of the project of the first file."""
    return next((file.options.project.fail_above for file in traced), ())


def _limits(texts: Sequence[str]) -> Limits:
    try:
        return limits_of(texts)
    except ValueError as error:
        raise UsageError(f"--fail-above {error}") from error
