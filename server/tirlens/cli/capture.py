"""``tirlens capture``: run a program without a GPU, and record the kernels that it launches."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tirlens.captured.file_format import Capture, CaptureError, merge, read, to_text
from tirlens.captured.journals import Recorded, read_journals
from tirlens.captured.names import FILE_NAME
from tirlens.cli import outputs
from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note
from tirlens.cli.output import progress
from tirlens.file_writer import replace_text
from tirlens.hardware import Device, DeviceError, load
from tirlens.pipeline import Options
from tirlens.pipeline.analysis_request import target_of
from tirlens.pipeline.device_choice import choose_device
from tirlens.repository import root_of
from tirlens.settings import Settings
from tirlens.worker_client import find_interpreter
from tirlens.worker_client.process import SCRIPT

_HOOK = SCRIPT.parent / "capture" / "hook"
_PYTHON = frozenset({"python", "python3"})
_MODULES = frozenset({"pytest", "torchrun"})
_NVCC = """#!/bin/sh
case "$1" in --version|-V) echo "Cuda compilation tools, release 13.0, V13.0.48"; exit 0;; esac
echo "nothing is compiled while calls are captured" >&2
exit 1
"""
_POLL_S = 0.3
# What a program has to end by itself, after a signal that asks it to.
_END_S = 5.0
_MAX_NAMES = 6


def execute(arguments: argparse.Namespace) -> int:
    """Run the program, write the file, and give the exit status."""
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program:
        raise UsageError("no command: tirlens capture -- python bench.py")
    folder = Path.cwd()
    root = root_of(folder / FILE_NAME) or folder
    output = Path(arguments.output) if arguments.output else root / FILE_NAME
    if not output.absolute().parent.is_dir():
        raise UsageError(f"{output}: its folder does not exist")
    # Before the program runs, which may take long.
    outputs.check(output, "capture", str(output))
    before = _existing_capture(output) if arguments.add else None
    settings, _ = Settings.from_pyproject(folder)
    device = _device(arguments.device, settings)
    command = _command(program, folder, arguments.python or settings.python)
    with tempfile.TemporaryDirectory(prefix="tirlens-capture-") as journals:
        environment = _environment(journals, output.absolute().parent, root, device)
        _add_compiler(environment, Path(journals))
        status = _run(command, environment, Path(journals), arguments.quiet)
        recorded = read_journals(Path(journals), device.id, _command_text(program, root))
    _print_summary(recorded, status)
    if not recorded.capture.calls:
        print_note(f"no launch of a kernel was recorded, and {output} is not written")
        return 1
    parts = [recorded.capture] if before is None else [before, recorded.capture]
    try:
        outputs.check(output, "capture", str(output))
        replace_text(output, to_text(merge(parts)))
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from error
    outputs.record(output, "capture")
    print(os.path.relpath(output))
    return 0


def _existing_capture(output: Path) -> Capture | None:
    if not output.exists():
        return None
    try:
        return read(output)
    except CaptureError as error:
        raise UsageError(str(error)) from error


def _device(name: str | None, settings: Settings) -> Device:
    """The device that the program sees.

    Raises:
        UsageError: there is none of that name, or it runs no CUDA programs.
    """
    try:
        device = load(name) if name else choose_device(None, None, Options(project=settings)).device
    except DeviceError as error:
        raise UsageError(str(error)) from error
    if not device.arch.startswith("sm_"):
        raise UsageError(f"{device.id} is no CUDA device: choose one by --device")
    return device


def _command(program: Sequence[str], folder: Path, python: str | None) -> list[str]:
    """The command, in which ``python`` and ``pytest`` are those of the project's interpreter."""
    name = program[0]
    if name not in _PYTHON | _MODULES:
        return list(program)
    interpreter = find_interpreter(folder / FILE_NAME, setting=python)
    if interpreter.problem is not None:
        raise UsageError(f"{interpreter.problem.message} (or name it: --python INTERPRETER)")
    first = [str(interpreter.path)]
    if name == "torchrun":
        return [*first, "-m", "torch.distributed.run", *program[1:]]
    return [*first, *(("-m", name) if name in _MODULES else ()), *program[1:]]


def _environment(journals: str, base: Path, root: Path, device: Device) -> dict[str, str]:
    """The environment of the program, whose code is at `root`; paths are relative to `base`."""
    settings = {
        "folder": journals,
        "base": str(base),
        "root": str(root),
        "target": dict(target_of(device)),
    }
    path = os.pathsep.join(filter(None, (str(_HOOK), os.environ.get("PYTHONPATH"))))
    return {
        **os.environ,
        "PYTHONPATH": path,
        "TIRLENS_CAPTURE": json.dumps(settings),
        # Another user's cache of compiled kernels would hide what is compiled.
        "TILELANG_DISABLE_CACHE": "1",
        "TILELANG_PRINT_ON_COMPILATION": "0",
    }


def _add_compiler(environment: dict[str, str], folder: Path) -> None:
    """Add an ``nvcc`` to the search path that has none: programs ask whether there is one."""
    if os.name == "nt" or shutil.which("nvcc") is not None:
        return
    compiler = folder / "bin" / "nvcc"
    compiler.parent.mkdir()
    compiler.write_text(_NVCC)
    compiler.chmod(0o755)
    environment["PATH"] = os.pathsep.join((str(compiler.parent), environment.get("PATH", "")))


def _run(command: Sequence[str], environment: dict[str, str], journals: Path, quiet: bool) -> int:
    """Run the program to its end; its exit status, negative for a signal.

    Raises:
        UsageError: it cannot be started.
    """
    output = subprocess.DEVNULL if quiet else None
    try:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from error
    with _signals_for_program(process), progress() as say:
        while True:
            try:
                return process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                if quiet:
                    say(_progress(journals))


@contextmanager
def _signals_for_program(process: subprocess.Popen[bytes]) -> Generator[None, None, None]:
    """Leave signals that end a command to the program; what it has recorded is kept.

    An interrupt of the terminal reaches both. Another signal reaches this process alone, which
    passes it on, and ends the program if that does not end by itself.
    """
    is_asked = False

    def pass_on(number: int, _: Any) -> None:
        nonlocal is_asked
        with contextlib.suppress(OSError):
            process.kill() if is_asked else process.send_signal(number)
        if not is_asked:
            killer = threading.Timer(_END_S, process.kill)
            killer.daemon = True
            killer.start()
        is_asked = True

    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _progress(journals: Path) -> str:
    recorded = read_journals(journals, "", "", with_order=False)
    cases = f", {recorded.cases:,} cases" if recorded.cases else ""
    return f"{_count(recorded)}{cases}"


def _count(recorded: Recorded) -> str:
    calls = recorded.capture.calls
    kernels = len({(call.file, call.function, call.kernel) for call in calls})
    return f"{kernels:,} kernels, {len(calls):,} calls, {recorded.launches:,} launches"


def _command_text(program: Sequence[str], root: Path) -> str:
    """The command without the paths of this machine."""
    words: list[str] = []
    for word in program:
        path = Path(word)
        if path.is_absolute():
            word = path.name
            if root in path.parents:
                word = path.relative_to(root).as_posix()
        words.append(word if word and " " not in word else json.dumps(word))
    return " ".join(words)


def _print_summary(recorded: Recorded, status: int) -> None:
    if not recorded.processes:
        print_note(
            "the command has started no Python that reads PYTHONPATH: the options -E, -I and -S "
            "of Python turn the recording off"
        )
    print_note(_count(recorded))
    if recorded.capture.sections:
        print_note(f"sections: {_join_names(recorded.capture.sections)}")
    if recorded.cases:
        without = recorded.without_launch
        print_note(
            f"{recorded.cases - len(without):,} of {recorded.cases:,} cases launched a kernel"
            + (f"; none: {_join_names(without)}" if without else "")
        )
    if status:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        print_note(f"the program has ended {how}; what it launched before is recorded")
    _print_uncertain(recorded.capture)
    unwritten: Counter[str] = Counter()
    for call in recorded.capture.calls:
        if call.call is None:
            unwritten[f"{call.file}: {call.function}: {call.problem}"] += call.launches
    for text, launches in unwritten.most_common(_MAX_NAMES):
        print_note(f"arguments that cannot be written: {text} ({launches:,} launches)")
    if recorded.unordered:
        print_note("the launches repeat too seldom for their order to be kept: no timeline")
    if recorded.skipped:
        print_note(f"not run: {_join_names(recorded.skipped)}")


def _print_uncertain(capture: Capture) -> None:
    """What of the calls is not known without a GPU, and what they leave out."""
    for call in capture.calls:
        if call.unknown_sizes:
            sizes = ", ".join(f"{name}={call.sizes.get(name, '?')}" for name in call.unknown_sizes)
            print_note(
                f"{call.function} at {call.places[0]}: {sizes} depends on data, which is not known "
                f"without a GPU ({call.launches:,} launches); give it by # tirlens: or --bind"
            )
        if call.configurations > 1:
            print_note(
                f"{call.function}: a tuner would choose among {call.configurations:,} "
                f"configurations: {call.launches:,} launches have no call"
            )
    if capture.others:
        count = sum(capture.others.values())
        names = [f"{name} {launches:,}" for name, launches in capture.others.items()]
        print_note(
            f"operations of other libraries, which are not estimated: {count:,}: "
            f"{_join_names(names)}"
        )


def _join_names(names: Sequence[str]) -> str:
    rest = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {rest:,} more" if rest > 0 else "")
