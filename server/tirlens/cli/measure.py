"""``tirlens measure``: run kernels on the machine's own device, and put the prediction beside."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens import pipeline, source
from tirlens.cli import counters, outcome, work
from tirlens.cli.errors import UsageError
from tirlens.cli.measured_table import COLUMNS, append, row
from tirlens.cli.output import console, stream
from tirlens.cli.sweep import swept
from tirlens.hardware import for_target
from tirlens.hardware.detect import FoundGpu, identify
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport, Options
from tirlens.settings import Settings
from tirlens.source import SourceFile
from tirlens.worker_client import Interpreter, find_interpreter, measure
from tirlens_worker.protocol import (
    RUNS_FOR_COUNTERS,
    Measure,
    Measured,
    NeedsArguments,
    Problem,
    Result,
    Timing,
)


@dataclass(frozen=True)
class Measurement:
    """A kernel's measured time, the report that predicts it, and its hardware counters."""

    path: str
    timing: Timing
    report: KernelReport
    counters: counters.Counters


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, append to the table if asked, and give the exit status."""
    if len(arguments.device) > 1:
        raise UsageError("measure takes one --device, that of the machine")
    options = work.options_of(arguments)
    if arguments.sweep:
        options = replace(options, calls=tuple(swept(options.calls, arguments.sweep)))
    done: list[Measurement] = []
    status = 0
    for path in work.paths_of(arguments.files):
        found, failed = _file(path, arguments, options)
        done += found
        status = max(status, int(failed))
    with stream(arguments.output) as file:
        if arguments.format == "json":
            rows = [dict(zip(COLUMNS, row(item), strict=True)) for item in done]
            json.dump({"measurements": rows}, file, indent=2, ensure_ascii=False)
            file.write("\n")
        elif done:
            console(file, arguments.color).print(_table(done))
    if arguments.append is not None and done:
        append(Path(arguments.append), done)
    if not done and not status:
        raise UsageError(f"no kernels in {', '.join(arguments.files)}")
    return status


def _file(
    path: Path, arguments: argparse.Namespace, options: Options
) -> tuple[list[Measurement], bool]:
    """What was measured of one file, and whether something failed, which has been told."""
    project, _ = Settings.from_pyproject(path.absolute().parent)
    options = replace(options, project=project)
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    found = source.read(text)
    asked = pipeline.request(1, str(path.absolute()), text, found, options)
    if not asked.kernels:
        return [], False
    interpreter = find_interpreter(
        path, setting=arguments.python or project.python, framework_hint=found.framework_hint
    )
    if interpreter.problem is not None:
        return [], _told(str(path), found, [interpreter.problem], options)
    request = Measure(asked.path, text, asked.kernels, asked.sys_path, options.bindings)
    answers = measure(interpreter.path, request, arguments.timeout)
    timed = [item for item in answers if isinstance(item, Measured)]
    _say_errors(path, timed)
    read = _counters(interpreter, request, timed, arguments)
    done = [
        Measurement(str(path), item.timing, _predicted(item, item.timing, found, options), seen)
        for item, seen in zip(timed, read, strict=True)
        if item.timing is not None
    ]
    failed = _told(str(path), found, answers, options)
    return done, failed or any(item.error for item in timed)


def _say_errors(path: Path, timed: Sequence[Measured]) -> None:
    """Why kernels were not measured, in one line a reason."""
    calls: dict[str, list[str]] = {}
    for item in timed:
        if item.error:
            calls.setdefault(item.error, []).append(item.facts.call)
    for error, names in calls.items():
        outcome.note(f"{path}: not measured: {error} ({', '.join(names)})")


def _told(
    path: str,
    found: SourceFile,
    answers: Sequence[Measured | NeedsArguments | Problem],
    options: Options,
) -> bool:
    """Say on standard error what could not be run; whether there was anything to say."""
    problems = tuple(item for item in answers if isinstance(item, Problem))
    needs = tuple(item for item in answers if isinstance(item, NeedsArguments))
    report = FileReport(problems=problems, needs=needs, source=found, path=path)
    outcome.say_problems([report])
    return bool(problems or needs)


def _predicted(item: Measured, timing: Timing, found: SourceFile, options: Options) -> KernelReport:
    """The model's report for the device that the kernel ran on, or the one that was named."""
    if options.device is None:
        device = for_target(timing.target)
        if timing.target.get("kind") == "cuda":
            gpu = FoundGpu(timing.device, "NVIDIA", str(timing.target.get("arch")))
            device = identify(gpu).device
        options = replace(options, device=device.id if device else None)
    options = replace(options, force_device=True, advice=False)
    return pipeline.report(found, Result(1, kernels=(item.facts,)), options).kernels[0]


def _counters(
    interpreter: Interpreter,
    request: Measure,
    timed: Sequence[Measured],
    arguments: argparse.Namespace,
) -> list[counters.Counters]:
    """What ncu reads of each kernel's last run; nothing on a CPU or where ncu is not installed."""
    nothing: list[counters.Counters] = [{} for _ in timed]
    on_gpu = [item for item in timed if item.timing and item.timing.target.get("kind") == "cuda"]
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        log = Path(folder) / "ncu.csv"
        under = counters.command(log, {item.facts.name for item in on_gpu})
        if not on_gpu or under is None:
            return nothing
        measure(interpreter.path, replace(request, for_counters=True), arguments.timeout, under)
        try:
            runs = counters.last_runs(
                counters.read(log.read_text(encoding="utf-8")), len(on_gpu), RUNS_FOR_COUNTERS
            )
        except (OSError, ValueError) as error:
            outcome.note(f"no counters: {error}")
            return nothing
    by_kernel = iter(runs)
    return [next(by_kernel) if item in on_gpu else {} for item in timed]


def _table(done: Sequence[Measurement]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("kernel", no_wrap=True, style="bold")
    for name in ("measured", "10-90%", "predicted", "band", "predicted/measured", "DRAM read"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("on", no_wrap=True)
    for item in done:
        timing, report = item.timing, item.report
        band = report.time_band_s
        ratio = report.time_s / timing.median_s if report.time_s else None
        table.add_row(
            Text(report.call or labels.title(report)),
            labels.seconds(timing.median_s),
            f"{labels.seconds(timing.low_s)} - {labels.seconds(timing.high_s)}",
            labels.seconds(report.time_s),
            f"{labels.seconds(band[0])} - {labels.seconds(band[1])}" if band else "",
            labels.number(ratio),
            _read_bytes(item),
            f"{timing.device}, model {report.device_id}",
        )
    return table


def _read_bytes(item: Measurement) -> str:
    """Predicted DRAM reads, and behind them what the counters say."""
    text = labels.bytes_(item.report.dram_bytes.read)
    seen = item.counters.get("dram_read_bytes")
    return text if seen is None else f"{text} (ncu {labels.bytes_(seen)})"
