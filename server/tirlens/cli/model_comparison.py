"""Kernels with the sizes of several language models: ``tirlens report --model A --model B``."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tirlens.cli import file_analysis, outcome
from tirlens.cli.comparison_table import write_comparison
from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note
from tirlens.cli.variants import Variant
from tirlens.language_models import load
from tirlens.pipeline import FileReport


def execute(arguments: argparse.Namespace) -> int:
    """Analyse the files once for each model, print a column for each, and give the exit status."""
    if len(set(arguments.model)) < len(arguments.model):
        raise UsageError("a --model is named twice")
    if len(arguments.device) > 1 or len(arguments.call) > 1:
        raise UsageError("several --model are compared on one --device, without --call")
    found = [_reports_with(arguments, model) for model in arguments.model]
    variants = [
        Variant(load(model).name, tuple(_only_of(report, model) for report in reports))
        for model, reports in zip(arguments.model, found, strict=True)
    ]
    write_comparison(arguments, variants)
    for variant in variants:
        if not any(report.kernels for report in variant.reports):
            print_note(f"no kernel takes the sizes of {variant.name}")
    outcome.print_problems(list(found[-1]))
    return outcome.status(found[-1])


def _reports_with(arguments: argparse.Namespace, model: str) -> list[FileReport]:
    """The reports of all files with the sizes of one model."""
    chosen = argparse.Namespace(**{**vars(arguments), "model": [model], "force_model": True})
    traced = file_analysis.trace(chosen)
    return file_analysis.in_cells(traced, file_analysis.reports_of(traced, arguments.jobs))


def _only_of(report: FileReport, model: str) -> FileReport:
    """`report` with the kernels that have the model's sizes."""
    kernels = (one for one in report.kernels if one.model is not None and one.model.model == model)
    return replace(report, kernels=tuple(kernels))
