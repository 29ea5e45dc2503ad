"""``tirlens analyze``: the cost of every kernel of some files, in a format of choice."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from tirlens import pipeline
from tirlens.cli import delimited, outcome, sarif, table, work
from tirlens.cli.output import console, stream
from tirlens.cli.rows import Selection, selection
from tirlens.pipeline import FileReport
from tirlens.settings import DEFAULT_MIN_PERCENTAGE


def run(arguments: argparse.Namespace) -> int:
    """Analyse, print, and give the exit status."""
    if len(arguments.device) > 1:
        raise work.UsageError("analyze takes one --device; tirlens compare takes several")
    shown = selection(0.0, arguments.id_range)
    traced = work.trace(arguments)
    reports = [item.report() for item in traced]
    shown = percentage(shown, arguments, traced)
    with stream(arguments.output) as file:
        if arguments.format == "table":
            table.print_reports(console(file, arguments.color), reports, shown)
        elif arguments.format == "csv":
            delimited.write_csv(file, reports, shown)
        elif arguments.format == "markdown":
            file.write(delimited.markdown(reports, shown))
        else:
            device = outcome.device_of(reports, traced[0].options)
            made = (
                sarif.to_sarif(reports)
                if arguments.format == "sarif"
                else pipeline.to_json(reports, device)
            )
            json.dump(made, file, indent=2, ensure_ascii=False)
            file.write("\n")
    outcome.say_problems(reports)
    outcome.say_budgets(reports)
    say_overridden(arguments, reports)
    return outcome.status(reports)


def percentage(
    shown: Selection, arguments: argparse.Namespace, traced: Sequence[work.Traced]
) -> Selection:
    """The selection with the least share that the option, the project or the default asks for."""
    asked = arguments.min_percentage
    if asked is None and arguments.command == "analyze" and arguments.format == "csv":
        # Data for other programs is whole unless they ask for less.
        asked = 0.0
    if asked is None:
        asked = next(
            (
                item.options.project.min_percentage
                for item in traced
                if item.options.project.min_percentage is not None
            ),
            DEFAULT_MIN_PERCENTAGE,
        )
    return Selection(asked / 100, shown.first, shown.last)


def say_overridden(arguments: argparse.Namespace, reports: Sequence[FileReport]) -> None:
    """Say where a directive or the project chose another device than the option."""
    if not arguments.device:
        return
    for file in reports:
        for kernel in file.kernels:
            if kernel.device_source in ("directive", "project"):
                where = "a directive" if kernel.device_source == "directive" else "pyproject.toml"
                outcome.note(
                    f"{file.path}:{kernel.span.line}: {kernel.name} is on {kernel.device_id}, "
                    f"which {where} sets, not on --device {arguments.device[0]}"
                )
