"""``tirlens measure``: run kernels on the machine's device and compare with the prediction."""

from __future__ import annotations

import argparse
import ast
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens import pipeline, source
from tirlens.cli import counters, outcome
from tirlens.cli.command_options import options_of
from tirlens.cli.errors import UsageError
from tirlens.cli.file_text import FileText, read_file
from tirlens.cli.measured.recording import entry_of_run, recorder
from tirlens.cli.measured_table import COLUMNS, Measurement, append, check, row
from tirlens.cli.named_files import paths_of
from tirlens.cli.output import console, progress, stream, write_json
from tirlens.hardware import for_target
from tirlens.hardware.detect import FoundGpu, identify
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport, Options
from tirlens.settings import Settings
from tirlens.source import SourceFile
from tirlens.worker_client import Interpreter, Measurer, find_interpreter
from tirlens_worker.protocol import (
    RUNS_FOR_COUNTERS,
    KernelRequest,
    Measure,
    Measured,
    NeedsArguments,
    Problem,
    Result,
    Timing,
)

Answer = Measured | NeedsArguments | Problem


def execute(arguments: argparse.Namespace) -> int:
    """Measure, print, append to the table if asked, and give the exit status."""
    if len(arguments.device) > 1:
        raise UsageError("measure takes one --device, that of the machine")
    options = options_of(arguments)
    if arguments.sweep:
        options = replace(options, calls=tuple(sweep_calls(options.calls, arguments.sweep)))
    if arguments.append is not None:
        check(Path(arguments.append))
    measurements: list[Measurement] = []
    status = 0
    paths = paths_of(arguments.files)
    if arguments.record is not None:
        recorder(arguments.record).check(paths)
    for path in paths:
        file = _File(path, arguments, options)
        for measurement in file.measurements():
            measurements.append(measurement)
            if arguments.append is not None:
                # At once: a later kernel may hang the machine.
                append(Path(arguments.append), [measurement])
        status = max(status, int(file.failed))
    with stream(arguments.output) as out:
        if arguments.format == "json":
            rows = [
                dict(zip(COLUMNS, row(measurement), strict=True)) for measurement in measurements
            ]
            write_json(out, {"measurements": rows})
        elif measurements:
            console(out, arguments.color).print(_table(measurements))
    if not measurements and not status:
        raise UsageError(f"no kernels in {', '.join(arguments.files)}")
    return status


class _File:
    """One file, whose kernels are measured one after another; failures are printed at the end."""

    def __init__(self, path: Path, arguments: argparse.Namespace, options: Options) -> None:
        self._path = path
        self._arguments = arguments
        project, wrong = Settings.from_pyproject(path.absolute().parent)
        for message in wrong:
            outcome.print_note(message)
        self._options = replace(options, project=project)
        self.failed = False

    def measurements(self) -> Iterator[Measurement]:
        """Measure the kernels of the file; yield each measurement at once."""
        path, arguments, options = self._path, self._arguments, self._options
        file = read_file(path)
        if file.problem is not None:
            self.failed = _print_failures(str(path), file, [file.problem])
            return
        text = file.text
        found = source.read(text, path)
        asked = pipeline.analysis_request(1, str(path.absolute()), text, found, options)
        if not asked.kernels:
            return
        interpreter = find_interpreter(
            path,
            setting=arguments.python or options.project.python,
            framework_hint=found.framework_hint,
        )
        if interpreter.problem is not None:
            self.failed = _print_failures(str(path), file, [interpreter.problem])
            return
        request = Measure(asked.path, text, asked.sys_path, options.bindings)
        answers: list[Answer] = []
        with Measurer(interpreter.path, request, arguments.timeout) as measurer, progress() as say:
            for call in [one for kernel in asked.kernels for one in _each_call(kernel)]:
                say(f"{path}: {_name(call)}")
                new = measurer.measure(call)
                answers += new
                timed = [measured for measured in new if isinstance(measured, Measured)]
                read: list[counters.Counters] = [{} for _ in timed]
                if arguments.counters:
                    read = _counters(interpreter, request, call, timed, arguments.timeout)
                for measured, kernel_counters in zip(timed, read, strict=True):
                    if measured.timing is not None:
                        report = _prediction(measured, measured.timing, found, options)
                        if arguments.record is not None:
                            # At once, as rows of the table: a later kernel may hang the machine.
                            entry = entry_of_run(measured.timing, report, found)
                            recorder(arguments.record).record(path, entry)
                        yield Measurement(str(path), measured.timing, report, kernel_counters)
        timed = [measured for measured in answers if isinstance(measured, Measured)]
        _say_errors(path, timed)
        self.failed = _print_failures(str(path), file, answers) or any(
            measured.error for measured in timed
        )


def _each_call(kernel: KernelRequest) -> list[KernelRequest]:
    """A request for each required call; `kernel` itself if any of its calls is sufficient."""
    required = [call for call in kernel.candidates if call.required]
    return [replace(kernel, candidates=(call,)) for call in required] or [kernel]


def _name(call: KernelRequest) -> str:
    return call.candidates[0].expression if call.candidates else call.name


def _say_errors(path: Path, timed: Sequence[Measured]) -> None:
    """Print why kernels were not measured, one line for each reason."""
    calls: dict[str, list[str]] = {}
    for measured in timed:
        if measured.error:
            calls.setdefault(measured.error, []).append(measured.facts.call)
    for error, names in calls.items():
        outcome.print_note(f"{path}: not measured: {error} ({', '.join(names)})")


def _print_failures(
    path: str, file: FileText, answers: Sequence[Measured | NeedsArguments | Problem]
) -> bool:
    """Print on standard error what could not be run; True if there was any."""
    problems = tuple(answer for answer in answers if isinstance(answer, Problem))
    needs = tuple(answer for answer in answers if isinstance(answer, NeedsArguments))
    report = FileReport(problems=problems, needs=needs, path=path)
    outcome.print_problems([report.in_cells(file.notebook) if file.notebook else report])
    return bool(problems or needs)


def _prediction(
    measured: Measured, timing: Timing, found: SourceFile, options: Options
) -> KernelReport:
    """The model's report for the device that the kernel ran on, or the one that was named."""
    if options.device is None:
        device = for_target(timing.target)
        if timing.target.get("kind") == "cuda":
            gpu = FoundGpu(timing.device, "NVIDIA", str(timing.target.get("arch")))
            device = identify(gpu).device
        options = replace(options, device=device.id if device else None)
    options = replace(options, force_device=True, advice=False)
    return pipeline.file_report(found, Result(1, kernels=(measured.facts,)), options).kernels[0]


def _counters(
    interpreter: Interpreter,
    request: Measure,
    call: KernelRequest,
    timed: Sequence[Measured],
    time_limit_s: float,
) -> list[counters.Counters]:
    """The counters of each kernel's last run; empty on a CPU or without an installed ncu."""
    nothing: list[counters.Counters] = [{} for _ in timed]
    on_gpu = [
        measured
        for measured in timed
        if measured.timing and measured.timing.target.get("kind") == "cuda"
    ]
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        log = Path(folder) / "ncu.csv"
        under = counters.command(log, {measured.facts.name for measured in on_gpu})
        if not on_gpu or under is None:
            return nothing
        watched = replace(request, for_counters=True)
        with Measurer(interpreter.path, watched, time_limit_s, under) as measurer:
            measurer.measure(call)
        try:
            runs = counters.last_runs(counters.read(log), len(on_gpu), RUNS_FOR_COUNTERS)
        except (OSError, ValueError) as error:
            outcome.print_note(f"no counters: {error}")
            return nothing
    by_kernel = iter(runs)
    return [next(by_kernel) if measured in on_gpu else {} for measured in timed]


def _table(measurements: Sequence[Measurement]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("kernel", no_wrap=True, style="bold")
    for name in ("measured", "10-90%", "predicted", "band", "predicted/measured", "DRAM read"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("on", no_wrap=True)
    for measurement in measurements:
        timing, report = measurement.timing, measurement.report
        band = report.time_band_s
        ratio = report.time_s / timing.median_s if report.time_s else None
        table.add_row(
            Text(report.call or labels.title(report)),
            labels.seconds(timing.median_s),
            f"{labels.seconds(timing.low_s)} - {labels.seconds(timing.high_s)}",
            labels.seconds(report.time_s),
            f"{labels.seconds(band[0])} - {labels.seconds(band[1])}" if band else "",
            labels.number(ratio),
            _read_bytes(measurement),
            f"{timing.device}, model {report.device_id}",
        )
    return table


def _read_bytes(measurement: Measurement) -> str:
    """Predicted DRAM reads, followed by those of the hardware counters if there are any."""
    text = labels.bytes_(measurement.report.dram_bytes.read)
    kernel_counters = measurement.counters.get("dram_read_bytes")
    return text if kernel_counters is None else f"{text} (ncu {labels.bytes_(kernel_counters)})"


def sweep_calls(calls: Sequence[str], sweeps: Sequence[str]) -> Iterator[str]:
    """Each of `calls` with the arguments of each combination of `sweeps` set by name.

    Raises:
        UsageError: there is no call to set them in, or a sweep is of another form.
    """
    if not calls:
        raise UsageError("--sweep sets arguments of a --call, and there is none")
    axes = [_axis(text) for text in sweeps]
    for call in calls:
        for values in itertools.product(*(axis for _, axis in axes)):
            yield _with(call, dict(zip((name for name, _ in axes), values, strict=True)))


def _axis(text: str) -> tuple[str, list[ast.expr]]:
    name, equals, values = text.partition("=")
    try:
        parsed = ast.parse(f"[{values}]", mode="eval").body
        assert isinstance(parsed, ast.List)
        for item in parsed.elts:
            ast.literal_eval(item)
    except (SyntaxError, ValueError, AssertionError):
        parsed = None
    if not equals or not name.strip().isidentifier() or parsed is None or not parsed.elts:
        raise UsageError(f"--sweep {text!r}: expected NAME=V1,V2,... such as block_M=64,128")
    return name.strip(), parsed.elts


def _with(call: str, values: dict[str, ast.expr]) -> str:
    tree = ast.parse(call.strip(), mode="eval").body
    if not isinstance(tree, ast.Call):
        raise UsageError(f"--call {call!r} is no call such as 'matmul(1024, 1024)'")
    others = [keyword for keyword in tree.keywords if keyword.arg not in values]
    tree.keywords = [*others, *(ast.keyword(name, value) for name, value in values.items())]
    return ast.unparse(tree)
