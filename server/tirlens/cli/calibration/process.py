"""The process that compiles and times the kernels of a calibration, and what it measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import tirlens_worker
from tirlens import hardware
from tirlens.cli.errors import UsageError
from tirlens.cli.output import progress
from tirlens.hardware import DeviceError

# Some dozens of kernels are compiled, a product in up to half a minute, and run for a tenth of a
# second to some seconds each.
TIMEOUT_S = 1800.0
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    "from tirlens_worker.frameworks.benchmarking.calibration.{} import main; main()"
)


def run(
    python: Path,
    processor: str,
    request: Mapping[str, Any],
    variables: Mapping[str, str] | None = None,
) -> Any:
    """What the calibration of a `processor` (``cpu``, ``gpu``) answers to `request` (JSON).

    The kernels run under the interpreter `python`, with further environment `variables`.

    Raises:
        UsageError: the kernels failed or took longer than `TIMEOUT_S`; the message has the reason.
    """
    root = str(Path(tirlens_worker.__file__).parents[1])
    command = [str(python), "-c", _PROGRAM.format(processor), root, json.dumps(request)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **(variables or {})},
        )
    except OSError as error:
        raise UsageError(f"calibrate: {python}: {error}") from error
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
        raise UsageError(f"calibrate: {python} failed: {reason}")
    return json.loads(output.strip().rpartition("\n")[2])


def check(text: str) -> None:
    """Raise for numbers that no device has, due to other load on this one.

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
            raise UsageError(f"calibrate: {what}; measure again when nothing else runs") from error


def print_unrepeated(kernels: Sequence[str]) -> None:
    """Name on standard error the kernels without two runs that agree."""
    if kernels:
        print(
            f"no two runs of these kernels agree: {', '.join(kernels)}; "
            "measure again when nothing else runs",
            file=sys.stderr,
        )
