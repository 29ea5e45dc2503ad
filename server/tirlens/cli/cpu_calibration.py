"""``tirlens devices --detect --calibrate``: a device file for this machine's CPU."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, TextIO, cast

import tirlens_worker
from tirlens import hardware
from tirlens.cli.errors import UsageError
from tirlens.cli.output import progress, stream
from tirlens.hardware import DeviceError, calibrate, detect_cpu
from tirlens.worker_client import find_interpreter

# About fifty kernels are compiled and run for a tenth of a second or two each.
TIMEOUT_S = 600.0
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    "from tirlens_worker.frameworks.benchmarking.calibration import main; main()"
)


def execute(arguments: argparse.Namespace) -> int:
    """Measure this machine's CPU and write its device file."""
    chosen = find_interpreter(Path.cwd(), setting=arguments.python, framework_hint="tvm")
    if "tvm" not in chosen.frameworks:
        raise UsageError(
            "--calibrate compiles small kernels and needs a Python that has tvm; "
            f"{chosen.path} ({chosen.why}) has not: name one with --python"
        )
    host = arguments.target == "host"
    found = detect_cpu.detect() if host else detect_cpu.as_plain_llvm(detect_cpu.detect())
    print(f"measuring {found.name}, {found.cores} cores, with {chosen.path}", file=sys.stderr)
    runs = measure(chosen.path, calibrate.kernel_sizes(found), host)
    numbers = calibrate.device_numbers(found, {name: least for name, (least, _) in runs.items()})
    unrepeated = calibrate.unrepeated_kernels(runs)
    text = calibrate.device_file(found, numbers, date.today(), unrepeated)
    check(text)
    if unrepeated:
        print(
            f"no two runs of these kernels agree: {', '.join(unrepeated)}; "
            "measure again when nothing else runs",
            file=sys.stderr,
        )
    with stream(arguments.output, "device") as file:
        file.write(text)
    return 0


def check(text: str) -> None:
    """Raise for numbers that no CPU has, due to other load on this one.

    Raises:
        UsageError: with the number.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.toml"
        path.write_text(text, encoding="utf-8")
        try:
            hardware.load(path)
        except DeviceError as error:
            what = str(error).replace(f"{path}:", "line ")
            raise UsageError(
                f"--calibrate: {what}; measure again when nothing else runs"
            ) from error


def measure(
    python: Path, sizes: Mapping[str, int], host: bool = True
) -> dict[str, tuple[float, float]]:
    """The two least times of a step in seconds, by kernel of the calibration.

    The kernels run under an interpreter with tvm, compiled for this `host` or for a generic CPU.

    Raises:
        UsageError: the kernels failed or took longer than `TIMEOUT_S`; the message has the reason.
    """
    root = str(Path(tirlens_worker.__file__).parents[1])
    given = json.dumps({"host": host, "sizes": dict(sizes)})
    command = [str(python), "-c", _PROGRAM, root, given]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "TVM_NUM_THREADS": str(sizes["cores"])},
        )
    except OSError as error:
        raise UsageError(f"--calibrate: {python}: {error}") from error
    last = ""
    limit = threading.Timer(TIMEOUT_S, process.kill)
    limit.start()
    with process, progress() as show:
        try:
            for line in cast("TextIO", process.stderr):
                last = line.strip() or last
                show(last)
            output = cast("TextIO", process.stdout).read()
            status = process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            has_expired = not limit.is_alive()
            limit.cancel()
    if status != 0:
        reason = f"no result within {TIMEOUT_S:g} s" if has_expired else last
        raise UsageError(f"--calibrate: {python} failed: {reason}")
    found: Any = json.loads(output.strip().rpartition("\n")[2])
    return cast("dict[str, tuple[float, float]]", found)
