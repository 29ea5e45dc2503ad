"""Whether files that an analysis depends on have changed."""

from __future__ import annotations

import os

# The path of a file, the time of its last change in nanoseconds and its size in bytes.
Stamp = tuple[str, int, int]

# Sizes of a file that does not exist, and of one that may have changed since it was read.
_MISSING, _CHANGED = -1, -2
# The time of a change may lag behind the clock by this: one tick of the kernel.
_CLOCK_NS = 10_000_000


def stamp_of_file(path: str) -> Stamp:
    """The present stamp of a file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a `Path` takes as long again
    except OSError:
        return path, 0, _MISSING
    return path, status.st_mtime_ns, status.st_size


def is_older(stamp: Stamp, time_ns: int) -> bool:
    """Whether the file was last changed before `time_ns` (nanoseconds since the epoch)."""
    return stamp[1] < time_ns - _CLOCK_NS


def stamp_when_read(path: str, began_ns: int) -> Stamp:
    """The stamp that a file had when it was read after `began_ns`.

    It is one that no file has if the file may have changed since then.
    """
    stamp = stamp_of_file(path)
    return stamp if is_older(stamp, began_ns) else (path, 0, _CHANGED)
