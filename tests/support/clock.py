"""Limits of the clock on machines that have other things to do."""

from __future__ import annotations

import subprocess
import sys
import time

# The start of a Python that imports asyncio, on a machine with nothing else to do.
_QUIET_START_S = 0.1
_STARTS = 3


def slowness() -> float:
    """How much slower than on a quiet machine things are now, at least 1: a factor for limits."""
    began = time.monotonic()
    for _ in range(_STARTS):
        subprocess.run([sys.executable, "-c", "import asyncio"], check=True)
    return max(1.0, (time.monotonic() - began) / _STARTS / _QUIET_START_S)
