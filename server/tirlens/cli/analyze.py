"""``tirlens analyze``: the cost of every kernel of some files, in a format of choice."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tirlens import pipeline
from tirlens.cli import delimited, file_analysis, outcome, sarif, table
from tirlens.cli.captured_files import other_operations, take_captures
from tirlens.cli.errors import UsageError
from tirlens.cli.output import console, stream, write_json
from tirlens.cli.rows import Selection, selection
from tirlens.cli.step_table import print_step
from tirlens.cli.traced_file import Traced
from tirlens.ide import places
from tirlens.pipeline import FileReport
from tirlens.settings import DEFAULT_MIN_PERCENTAGE


def execute(arguments: argparse.Namespace) -> int:
    """Analyse, print, and give the exit status."""
    if len(arguments.device) > 1:
        raise UsageError("analyze takes one --device; tirlens compare takes several")
    selected = selection(0.0, arguments.id_range)
    take_captures(arguments)
    traced, in_texts = file_analysis.trace_and_report(arguments)
    reports = file_analysis.in_cells(traced, in_texts)
    selected = apply_min_percentage(selected, arguments, traced)
    with stream(arguments.output) as file:
        if arguments.by_launches and arguments.format == "table":
            print_step(console(file, arguments.color), reports, other_operations(arguments))
        if arguments.format == "table":
            table.print_reports(console(file, arguments.color), reports, selected)
        elif arguments.format == "csv":
            delimited.write_csv(file, reports, selected)
        elif arguments.format == "markdown":
            file.write(delimited.markdown(reports, selected))
        else:
            device = outcome.device_of(reports, traced[0].options)
            document = (
                sarif.to_sarif(reports)
                if arguments.format == "sarif"
                else pipeline.to_json(
                    reports, device, arguments.by_launches, other_operations(arguments)
                )
            )
            write_json(file, document)
    outcome.print_problems(reports)
    outcome.print_exceeded_budgets(reports)
    print_device_overrides(arguments, reports)
    return outcome.status(reports)


def apply_min_percentage(
    selected: Selection, arguments: argparse.Namespace, traced: Sequence[Traced]
) -> Selection:
    """The selection with the least share that the option, the project or the default asks for."""
    min_percentage = arguments.min_percentage
    if min_percentage is None and arguments.command == "analyze" and arguments.format == "csv":
        # Data for other programs is whole unless they ask for less.
        min_percentage = 0.0
    if min_percentage is None:
        min_percentage = next(
            (
                file.options.project.min_percentage
                for file in traced
                if file.options.project.min_percentage is not None
            ),
            DEFAULT_MIN_PERCENTAGE,
        )
    return Selection(min_percentage / 100, selected.first, selected.last)


def print_device_overrides(arguments: argparse.Namespace, reports: Sequence[FileReport]) -> None:
    """Say where a directive or the project chose another device than the option."""
    if not arguments.device:
        return
    for file in reports:
        for kernel in file.kernels:
            if kernel.device_source in ("directive", "project"):
                where = "a directive" if kernel.device_source == "directive" else "pyproject.toml"
                place = places.place(file.path, kernel.span)
                outcome.print_note(
                    f"{place}: {kernel.name} is on {kernel.device_id}, "
                    f"which {where} sets, not on --device {arguments.device[0]}"
                )
