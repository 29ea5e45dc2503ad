"""``tirlens calibrate --cpu``: the times of small kernels, and the device file that they give."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import cast

from tirlens.cli.calibration.process import check, print_unrepeated, run
from tirlens.cli.errors import UsageError
from tirlens.hardware import detect_cpu
from tirlens.hardware.calibration.cpu import device_file, device_numbers, kernel_sizes
from tirlens.hardware.calibration.repetition import unrepeated_kernels
from tirlens.worker_client import find_interpreter


def calibrate(arguments: argparse.Namespace) -> str:
    """Measure this machine's CPU; the text of its device file."""
    chosen = find_interpreter(Path.cwd(), setting=arguments.python, framework_hint="tvm")
    if "tvm" not in chosen.frameworks:
        raise UsageError(
            "calibrate --cpu compiles small kernels and needs a Python that has tvm; "
            f"{chosen.path} ({chosen.why}) has not: name one with --python"
        )
    host = arguments.target == "host"
    found = detect_cpu.detect() if host else detect_cpu.as_plain_llvm(detect_cpu.detect())
    print(f"measuring {found.name}, {found.cores} cores, with {chosen.path}", file=sys.stderr)
    runs, processor = measure(chosen.path, kernel_sizes(found), host)
    if found.base.startswith("x86"):
        # Assembly of other processors is not read.
        found = replace(found, processor=processor)
    numbers = device_numbers(found, {name: least for name, (least, _) in runs.items()})
    unrepeated = unrepeated_kernels(runs)
    text = device_file(found, numbers, date.today(), unrepeated)
    check(text)
    print_unrepeated(unrepeated)
    return text


def measure(
    python: Path, sizes: Mapping[str, int], host: bool = True
) -> tuple[dict[str, tuple[float, float]], str]:
    """The two least times of a step in seconds by kernel, and LLVM's name of the processor.

    The kernels run under an interpreter with tvm, compiled for this `host` or for a generic CPU.

    Raises:
        UsageError: the kernels failed; the message has the reason.
    """
    request = {"host": host, "sizes": dict(sizes)}
    found = run(python, "cpu", request, {"TVM_NUM_THREADS": str(sizes["cores"])})
    seconds = cast("dict[str, tuple[float, float]]", found["seconds"])
    return seconds, str(found["processor"])
