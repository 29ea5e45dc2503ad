"""``tirlens calibrate``: a device file for the GPU or the CPU of this machine."""

from __future__ import annotations

import argparse

from tirlens.cli.calibration import cpu, gpu
from tirlens.cli.errors import UsageError
from tirlens.cli.output import stream


def execute(arguments: argparse.Namespace) -> int:
    """Measure the GPU or the CPU of this machine and write its device file."""
    if arguments.cpu and arguments.device is not None:
        raise UsageError("--cpu measures the CPU, and takes no device")
    text = (cpu if arguments.cpu else gpu).calibrate(arguments)
    with stream(arguments.output, "device") as file:
        file.write(text)
    return 0
