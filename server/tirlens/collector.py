"""Settings of the garbage collector while kernels are modelled.

Facts and counts are many small objects without cycles, which reference counting frees.  Scanning
all of them after each few allocations would take as long as creating them.  Work whose objects
refer to each other is followed by a collection of its own.
"""

from __future__ import annotations

import gc
import threading
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


_lock = threading.Lock()
_works_with_cycles = 0


@contextmanager
def collecting_cycles() -> Generator[None]:
    """Free the objects of the work within a ``with`` statement that refer to each other.

    They must not be reachable behind the statement.
    """
    global _works_with_cycles
    with _lock:
        _works_with_cycles += 1
    try:
        yield
    finally:
        # Before the end: what another thread exempts would never be collected.
        gc.collect()
        with _lock:
            _works_with_cycles -= 1


def exempt_present_objects() -> None:
    """Exempt all present objects from garbage collection, whose scans would delay requests.

    Nothing is exempt while there is work whose objects have to be collected.
    """
    gc.collect(1)
    with _lock:
        if not _works_with_cycles:
            gc.freeze()
