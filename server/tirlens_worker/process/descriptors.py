"""Open files that analysed code does not meet by accident.

Programs close ranges of descriptors (``os.closerange(3, 256)``), and a file that is opened next
receives the lowest free number. The descriptors of an analysis therefore have high numbers, and
what is behind a number is compared before it is written to.
"""

from __future__ import annotations

import os
import stat
from typing import Set, Tuple

# At most what select(2) and the usual soft limit allow.
END = 1024
_RESERVED = 64

Identity = Tuple[int, int, int]
private: Set[int] = set()
"""The open files of this process that its children close: its pipes to others."""


def move_up(descriptor: int) -> int:
    """Give an open file a high number, where the system can; its number."""
    try:
        import fcntl
        import resource
    except ImportError:
        return descriptor
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    end = END if soft == resource.RLIM_INFINITY else min(soft, END)
    try:
        moved = int(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, max(3, end - _RESERVED)))
    except (OSError, ValueError):
        return descriptor
    os.close(descriptor)
    return moved


def identity(descriptor: int) -> Identity:
    """What is open: its device, number there (0 for a pipe of Windows), and type.

    Raises:
        OSError: nothing is.
    """
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode)


def is_open(descriptor: int, expected: Identity) -> bool:
    """Whether `descriptor` is open on what has the identity `expected`."""
    try:
        return identity(descriptor) == expected
    except OSError:
        return False
