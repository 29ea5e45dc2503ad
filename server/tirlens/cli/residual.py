"""``tirlens residual``: why measured kernels do not take their predicted time, and a bundle."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tirlens.cli.errors import UsageError
from tirlens.cli.measured import residual_table
from tirlens.cli.measured.report import print_problems, read_traces
from tirlens.cli.measured.residual_questions import mechanisms_or_missing, question_for
from tirlens.cli.measured.residual_table import ResidualRow
from tirlens.cli.measured.selection import select
from tirlens.cli.measured.trace_reading import traces_of
from tirlens.cli.measured.workspace_matches import WorkspaceMatches, match_workspace
from tirlens.cli.outcome import print_note
from tirlens.cli.output import stream
from tirlens.file_reader import open_regular, read_text
from tirlens.ide import labels
from tirlens.ide.escaping import visible
from tirlens.measured.bundle.anonymous_facts import Anonymiser
from tirlens.measured.bundle.residual_bundle import (
    KEY,
    BundledKernel,
    BundleError,
    Measurement,
    anonymous,
    bundle_text,
    read_bundle,
)
from tirlens.measured.groups import Group
from tirlens.measured.matching.residuals import Residual, band_position
from tirlens.measured.mechanisms import Question
from tirlens.measured.reading.trace import Trace
from tirlens.pipeline import Options
from tirlens_worker.facts import KernelFacts

_MAX_BUNDLE_BYTES = 256 << 20
_HEAD_BYTES = 4096


def execute(arguments: argparse.Namespace) -> int:
    """Print the residuals, write the bundle if asked, and give the exit status."""
    if arguments.yes and arguments.bundle is None:
        raise UsageError("--yes needs --bundle FILE")
    if not arguments.measured:
        return _execute_on_bundle(arguments)
    if not arguments.files:
        arguments.files = ["."]
    traces, errors = read_traces(traces_of(arguments.measured))
    for error in errors:
        print_note(str(error))
    if not traces:
        return 2
    report = select(traces, tuple(map(Path, arguments.files)), arguments)
    matches = match_workspace(report, arguments)
    for note in (*report.notes, *matches.notes):
        print_note(note)
    _print_unmatched(matches)
    rows = [_row(residual, arguments) for residual in matches.matched]
    _write(rows, arguments)
    status = 1 if print_problems(traces) or errors or not rows else 0
    if arguments.bundle is not None:
        bundled = _bundle_kernels(matches, traces, arguments)
        return max(status, _write_bundle(bundled, arguments))
    return status


def _execute_on_bundle(arguments: argparse.Namespace) -> int:
    if len(arguments.files) != 1 or not _is_bundle(Path(arguments.files[0])):
        raise UsageError("residual needs --measured TRACE, or one bundle that it has written")
    if arguments.bundle is not None:
        raise UsageError("--bundle needs --measured TRACE")
    name = arguments.files[0]
    try:
        kernels = read_bundle(read_text(Path(name), _MAX_BUNDLE_BYTES))
    except (BundleError, OSError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from error
    rows = [_row_of_bundle(kernel) for kernel in kernels]
    _write(rows, arguments)
    return 0 if rows else 1


def _is_bundle(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            return f'"{KEY}"'.encode() in file.read(_HEAD_BYTES)
    except OSError:
        return False


def _write(rows: Sequence[ResidualRow], arguments: argparse.Namespace) -> None:
    with stream(arguments.output) as out:
        residual_table.write(out, rows, arguments.format, arguments.color)


def _row(residual: Residual, arguments: argparse.Namespace) -> ResidualRow:
    return _answer(
        question_for(residual, arguments),
        residual.match.title,
        residual.device_id,
        residual.executions,
        residual.measured_s,
        residual.predicted_s,
        residual.band_s,
        notes=residual.notes,
    )


def _row_of_bundle(kernel: BundledKernel) -> ResidualRow:
    report = kernel.report()
    launch = kernel.predicted_launch(report)
    several = kernel.launch is not None and len(report.sequence) > 1
    number = f", launch {kernel.launch + 1}" if several and kernel.launch is not None else ""
    row = _answer(
        kernel.question(report),
        f"{labels.title(report)}{number}",
        kernel.device_id,
        kernel.measurement.executions,
        kernel.measurement.time_s,
        launch.time_s,
        launch.time_band_s,
        written_s=kernel.predicted_s,
        written_by=kernel.predicted_by,
    )
    if report.has_counts:
        return row
    return residual_table.with_missing(row, report.message or report.status)


def _answer(
    question: Question | None,
    title: str,
    device_id: str,
    executions: int,
    measured_s: float | None,
    predicted_s: float | None,
    band_s: tuple[float, float] | None,
    written_s: float | None = None,
    written_by: str = "",
    notes: tuple[str, ...] = (),
) -> ResidualRow:
    """A row with the mechanisms of its question, or what is missing for them."""
    mechanisms, missing = mechanisms_or_missing(question, band_position(measured_s, band_s))
    return ResidualRow(
        title, device_id, executions, measured_s, predicted_s, band_s, mechanisms, missing,
        written_s, written_by, notes,
    )  # fmt: skip


def _print_unmatched(matches: WorkspaceMatches) -> None:
    others = [*matches.ambiguous, *matches.unmatched]
    if not others:
        return
    time_s = math.fsum(one.group.time.total for one in others)
    print_note(
        f"{labels.count(len(others), 'measured kernel')} of {labels.seconds(time_s)} "
        f"{'is' if len(others) == 1 else 'are'} not matched with a kernel of the files; "
        "tirlens report lists why"
    )


def _bundle_kernels(
    matches: WorkspaceMatches, traces: Sequence[Trace], arguments: argparse.Namespace
) -> list[BundledKernel]:
    """The matched kernels as they can leave the machine."""
    names = Anonymiser(arguments.keep_names)
    found: list[BundledKernel] = []
    for residual in matches.matched:
        source = _facts_of(residual, matches)
        if source is None or residual.measured_s is None:
            print_note(f"{residual.match.candidate.title}: has no facts, and is not in the bundle")
            continue
        facts, options = source
        question = question_for(residual, arguments)
        kernel = BundledKernel(
            facts,
            {**options.bindings, **residual.match.candidate.report.bindings},
            residual.device_id,
            residual.match.number,
            _measurement(residual, residual.measured_s, traces, question),
            residual.predicted_s,
        )
        public = anonymous(kernel, names)
        if public is None:
            print_note(f"{residual.device_id} is not in the catalogue: its kernels are left out")
        else:
            found.append(public)
    return found


def _facts_of(residual: Residual, matches: WorkspaceMatches) -> tuple[KernelFacts, Options] | None:
    """The facts of a matched kernel, and the options of its file."""
    candidate = residual.match.candidate
    report = candidate.report
    for file in matches.traced:
        if file.path != candidate.path:
            continue
        for facts in reversed(file.result.kernels):
            same = (facts.name, facts.definition, facts.call)
            if same == (report.name, report.definition, report.call):
                return facts, file.options
    return None


def _measurement(
    residual: Residual, time_s: float, traces: Sequence[Trace], question: Question | None
) -> Measurement:
    group = residual.match.group
    times = group.time
    figures = {
        "median_s": times.median,
        "mean_s": times.mean,
        "minimum_s": times.minimum,
        "maximum_s": times.maximum,
        "deviation_s": times.deviation,
        "p10_s": times.quantile(0.1),
        "p90_s": times.quantile(0.9),
        "kernel_time_s": None if question is None else question.kernel_time_s,
    }
    identity = group.identity
    block = identity and identity.block
    trace = next((one for one in traces if str(one.path) == group.first.position.path), None)
    return Measurement(
        time_s,
        {name: value for name, value in figures.items() if value is not None},
        group.executions,
        identity and identity.grid,
        None if block is None else math.prod(block),
        identity and identity.shared_bytes,
        group.first.registers,
        group.counters if question is None else question.counters,
        None if trace is None else _device_name(group, trace),
        None if trace is None else trace.format_name,
        question is None or question.counters_are_of_timed_run,
    )


def _device_name(group: Group, trace: Trace) -> str | None:
    names = {one.name for one in trace.devices if one.device == group.first.device}
    return next(iter(names)) if len(names) == 1 else None


def _write_bundle(kernels: Sequence[BundledKernel], arguments: argparse.Namespace) -> int:
    """Print the bundle, ask, and write it."""
    if not kernels:
        print_note("no kernel is matched: there is no bundle to write")
        return 1
    text = bundle_text(kernels)
    _print(text.splitlines())
    print_note(
        f"this is all of {arguments.bundle}: no source text, paths, or names of people and hosts; "
        + (
            "names of kernels and arrays as in the source"
            if arguments.keep_names
            else "names of kernels, arrays and sizes are replaced"
        )
    )
    if not arguments.yes and not _is_confirmed(arguments.bundle):
        return 1
    with stream(arguments.bundle) as out:
        out.write(text)
    return 0


def _is_confirmed(path: str) -> bool:
    if not sys.stdin.isatty():
        print_note(f"{path} is not written: give --yes where nobody can be asked")
        return False
    print(f"Write {visible(path)}? [y/N] ", end="", file=sys.stderr, flush=True)
    is_confirmed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not is_confirmed:
        print_note(f"{path} is not written")
    return is_confirmed


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(visible(line), file=sys.stderr)
