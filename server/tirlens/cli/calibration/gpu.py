"""``tirlens calibrate``: the times of small kernels on a GPU, and the device file of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, cast

from tirlens import hardware
from tirlens.cli.calibration.process import check, print_unrepeated, run
from tirlens.cli.errors import UsageError
from tirlens.hardware import Device, DeviceError
from tirlens.hardware.calibration.gpu import Calibration, StepTime, calibration, device_file
from tirlens.hardware.calibration.gpu_steps import PRODUCT, Board, Step, calibration_steps
from tirlens.hardware.calibration.repetition import unrepeated_kernels
from tirlens.hardware.detect import FoundGpu, Match, driver_version, gpus, identify
from tirlens.worker_client import Interpreter, find_interpreter

# tilelang brings a TVM that compiles for GPUs; the packages of TVM on PyPI do not.
FRAMEWORKS = ("tilelang", "tvm")


@dataclass(frozen=True)
class Timed:
    """The times of the steps, the steps whose runs do not agree, and why others have no time."""

    times: Mapping[str, StepTime]
    unrepeated: Sequence[str]
    problems: Mapping[str, str] = field(default_factory=dict[str, str])


def calibrate(arguments: argparse.Namespace) -> str:
    """Measure this machine's GPU; the text of its device file."""
    chosen = _interpreter(arguments.python)
    board = find_board(chosen.path)
    match = _match(board)
    base = _base(arguments.device, match)
    is_exact = match.exact and not match.gpu.mig and match.device == base
    print(
        f"measuring {board.name} with {board.framework} of {chosen.path}; "
        f"the file extends {base.id}",
        file=sys.stderr,
    )
    timed = measure(chosen.path, calibration_steps(base, board))
    result = calibration(base, board, is_exact, timed.times)
    driver = driver_version(board.vendor)
    text = device_text(base, match.gpu, board, result, timed, driver, date.today())
    for step, problem in timed.problems.items():
        print(f"not measured: {step}: {problem}", file=sys.stderr)
    if not any(what for _, what in result.numbers.values()):
        raise UsageError("calibrate: no step was measured")
    check(text)
    for note in result.notes:
        print(note, file=sys.stderr)
    print_unrepeated(timed.unrepeated)
    return text


def find_board(python: Path) -> Board:
    """The GPU that the framework of an interpreter finds.

    Raises:
        UsageError: there is none; the message has what was looked for, and what to do.
    """
    found = cast("dict[str, Any]", run(python, "gpu", {}))
    if "problem" in found:
        names = ", ".join(gpu.name for gpu in gpus())
        drivers = f"the drivers report {names}" if names else "no driver's tool reports a GPU"
        raise UsageError(
            f"calibrate finds no GPU that {python} can use: {found['problem']}; {drivers}. "
            "Run it on the machine of the GPU, with --python of an environment whose tilelang or "
            "TVM compiles for it. calibrate --cpu measures the CPU"
        )
    return Board(**found)


def measure(python: Path, steps: Sequence[Step]) -> Timed:
    """The times of the steps on the GPU.

    Each product has a process of its own: its compiler may end with the process.

    Raises:
        UsageError: the process of the other steps failed; the message has the reason.
    """
    products = [step for step in steps if step.kernel == PRODUCT]
    others = [step.request() for step in steps if step.kernel != PRODUCT]
    answers = cast("dict[str, dict[str, Any]]", run(python, "gpu", {"steps": others}))
    for step in products:
        try:
            answers |= run(python, "gpu", {"steps": [step.request()]})
        except UsageError as error:
            answers[step.name] = {"problem": str(error)}
    return timed_steps(answers)


def timed_steps(answers: Mapping[str, Mapping[str, Any]]) -> Timed:
    """The answers of the worker."""
    runs = {name: item["seconds"] for name, item in answers.items() if "seconds" in item}
    times = {
        name: StepTime(seconds[0], answers[name].get("clk"), answers[name].get("how", ""))
        for name, seconds in runs.items()
    }
    problems = {name: item["problem"] for name, item in answers.items() if "problem" in item}
    return Timed(times, unrepeated_kernels(runs), problems)


def device_text(
    base: Device,
    gpu: FoundGpu,
    board: Board,
    result: Calibration,
    timed: Timed,
    driver: str | None,
    when: date,
) -> str:
    """The device file with the date, the driver and the clocks."""
    machine = [
        f"driver {driver}" if driver else "",
        f"up to {gpu.max_clock_hz / 1e6:.0f} MHz" if gpu.max_clock_hz else "",
        f"limited to {gpu.power_limit_w:.4g} W" if gpu.power_limit_w else "",
        f"kernels by {board.framework}",
    ]
    notes = [f"{board.name}: {', '.join(filter(None, machine))}"]
    if timed.unrepeated:
        notes.append(f"No two runs agreed of: {', '.join(timed.unrepeated)}")
    source = [
        f"measured on this machine, {when.isoformat()}",
        f"driver {driver}" if driver else "",
        f"clock {result.clock_hz / 1e6:.0f} MHz" if result.clock_hz else "",
    ]
    reported = f"reported by the driver, {when.isoformat()}"
    return device_file(base, board, result, ", ".join(filter(None, source)), reported, notes)


def _interpreter(python: str | None) -> Interpreter:
    found = [
        find_interpreter(Path.cwd(), setting=python, framework_hint=framework)
        for framework in FRAMEWORKS
    ]
    for framework, chosen in zip(FRAMEWORKS, found, strict=True):
        if framework in chosen.frameworks:
            return chosen
    raise UsageError(
        "calibrate compiles small kernels and needs a Python that has tilelang or tvm; "
        f"{found[0].path} ({found[0].why}) has not: name one with --python"
    )


def _match(board: Board) -> Match:
    """The entry of the board, with what the driver's tool reports of the same board."""
    found = next((gpu for gpu in gpus() if gpu.name == board.name), None)
    return identify(found or FoundGpu(board.name, board.vendor, board.arch, board.memory_bytes))


def _base(named: str | None, match: Match) -> Device:
    """The device of the catalogue that the file extends."""
    if named is None:
        if match.device is None:
            raise UsageError(
                f"calibrate: {match.gpu.name} is not in the catalogue, nor is its architecture: "
                "name the device that it resembles (see tirlens devices)"
            )
        return match.device
    try:
        found = hardware.load(named)
    except DeviceError as error:
        raise UsageError(str(error)) from error
    if found.kind != "gpu" or found.id not in hardware.catalogue():
        raise UsageError(f"calibrate: {named} is no GPU of the catalogue: see tirlens devices")
    return found
