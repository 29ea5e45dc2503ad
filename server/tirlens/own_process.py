"""What other processes of the user may do with this one."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4


def hide() -> None:
    """Refuse other processes this one's environment, memory and open files in ``/proc`` (Linux).

    A process that is not dumpable is not to be traced, and that is what these need (proc(5),
    ptrace(2), "Ptrace access mode checking"). A program that it starts is as others are.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
