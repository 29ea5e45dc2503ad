"""``tirlens compare``: kernels on other devices, with other arguments, under another framework, or
before a change, and measured runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from tirlens import array_words
from tirlens.cli import (
    base_comparison,
    file_analysis,
    model_comparison,
    outcome,
    version_comparison,
)
from tirlens.cli.comparison_table import write_comparison
from tirlens.cli.errors import UsageError
from tirlens.cli.measured import comparison as measured_comparison
from tirlens.cli.variants import Variant
from tirlens.pipeline import FileReport


def execute(arguments: argparse.Namespace) -> int:
    """Compare what the options name, and give the exit status."""
    if arguments.measured or arguments.measured_base:
        return measured_comparison.execute(arguments)
    if arguments.each:
        raise UsageError("--each needs --measured OLD NEW")
    if not arguments.files:
        raise UsageError("compare needs a FILE with kernels, or --measured OLD NEW")
    if arguments.format == "csv":
        raise UsageError("--format csv needs --measured OLD NEW")
    if arguments.base is not None and len(arguments.pythons) > 1:
        raise UsageError("--base takes one --python")
    if arguments.base is not None:
        return base_comparison.execute(arguments)
    if len(arguments.pythons) > 1:
        return version_comparison.execute(arguments)
    if arguments.diff:
        raise UsageError("--diff needs two --python")
    several = [len(items) > 1 for items in (arguments.device, arguments.call, arguments.model)]
    if sum(several) != 1:
        raise UsageError(
            "compare needs two or more --device, two or more --call, two or more --model, "
            "two --python, --base GITREV or --measured"
        )
    if arguments.fail_above or arguments.write or arguments.format in ("sarif", "github"):
        raise UsageError(
            "--fail-above, --write and these formats need --base GITREV or two --python"
        )
    if arguments.allow_uncompared:
        raise UsageError("--allow-uncompared needs --base GITREV or two --python")
    if len(arguments.model) > 1:
        return model_comparison.execute(arguments)
    traced = file_analysis.trace(arguments)

    def reports_of(**options: object) -> tuple[FileReport, ...]:
        reports = file_analysis.reports_of(traced, arguments.jobs, **options)
        return tuple(file_analysis.in_cells(traced, reports))

    if len(arguments.device) > 1:
        variants = [
            Variant(name, reports_of(device=name, force_device=True)) for name in arguments.device
        ]
    else:
        whole = reports_of()
        variants = [_only(whole, call) for call in arguments.call]
    write_comparison(arguments, variants)
    reports = [report for variant in variants for report in variant.reports]
    outcome.print_problems(list(variants[-1].reports))
    outcome.print_exceeded_budgets(reports)
    return outcome.status(reports)


def _only(reports: Sequence[FileReport], call: str) -> Variant:
    """The part of the reports that one call made."""
    kept = (
        replace(file, kernels=tuple(k for k in file.kernels if _plain(k.call) == _plain(call)))
        for file in reports
    )
    return Variant(call, tuple(kept))


def _plain(call: str) -> str:
    return "".join(array_words.expand(call).split())
