"""Settings of the garbage collector while kernels are modelled.

Facts and counts are many small objects without cycles, which reference counting frees.  Scanning
all of them after each few allocations would take as long as creating them.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

# The collector scans new objects only.
THRESHOLDS = (1000, 3, 1_000_000)


def scan_new_objects_only() -> None:
    """Make the collector scan new objects only, for the rest of this process."""
    gc.set_threshold(*THRESHOLDS)
    gc.freeze()


@contextmanager
def scanning_new_objects_only() -> Generator[None]:
    """Make the collector scan new objects only, within a ``with`` statement."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
