"""What the garbage collector looks through while kernels are modelled.

Facts and counts are many small objects without cycles: they go when nobody refers to them, and to
look through all of them each time that some more have been made takes as long as making them.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

# The collector looks at what is new.
THRESHOLDS = (1000, 3, 1_000_000)


def look_at_new_objects() -> None:
    """For a process of our own: what is there stays, and what has been made for long is old."""
    gc.set_threshold(*THRESHOLDS)
    gc.freeze()


@contextmanager
def looking_at_new_objects() -> Generator[None]:
    """The same for a while, in the process of somebody else."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
