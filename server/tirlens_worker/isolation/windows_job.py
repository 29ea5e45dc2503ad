"""Windows job objects: a worker is in one with all that it starts, and they end together.

The worker makes the job itself, so nothing that it starts can be outside; it holds the only
handle, so that its end, of whatever kind, closes the job and ends the others.  The structures and
constants are those of ``winnt.h``; see "Job Objects" in Microsoft's documentation of the Windows
API.  Everything can be imported on any system and does something on Windows only.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import Structure, c_int64, c_size_t, c_uint32, c_uint64, c_void_p, sizeof
from typing import Any, Optional

EXTENDED_LIMIT_INFORMATION = 9
LIMIT_ACTIVE_PROCESS = 0x0008
LIMIT_JOB_MEMORY = 0x0200
LIMIT_DIE_ON_UNHANDLED_EXCEPTION = 0x0400
LIMIT_KILL_ON_JOB_CLOSE = 0x2000
SYNCHRONIZE = 0x00100000
INFINITE = 0xFFFFFFFF
_MOST_PROCESSES = 128
# What the warm framework takes, and what an analysis may.
_MOST_MEMORY_BYTES = 20 << 30


class BasicLimits(Structure):
    """``JOBOBJECT_BASIC_LIMIT_INFORMATION``"""

    _fields_ = [
        ("PerProcessUserTimeLimit", c_int64),
        ("PerJobUserTimeLimit", c_int64),
        ("LimitFlags", c_uint32),
        ("MinimumWorkingSetSize", c_size_t),
        ("MaximumWorkingSetSize", c_size_t),
        ("ActiveProcessLimit", c_uint32),
        ("Affinity", c_size_t),
        ("PriorityClass", c_uint32),
        ("SchedulingClass", c_uint32),
    ]


class ExtendedLimits(Structure):
    """``JOBOBJECT_EXTENDED_LIMIT_INFORMATION``"""

    _fields_ = [
        ("BasicLimitInformation", BasicLimits),
        ("IoInfo", c_uint64 * 6),
        ("ProcessMemoryLimit", c_size_t),
        ("JobMemoryLimit", c_size_t),
        ("PeakProcessMemoryUsed", c_size_t),
        ("PeakJobMemoryUsed", c_size_t),
    ]


def limits() -> ExtendedLimits:
    """What a worker and its descendants may have together."""
    wanted = ExtendedLimits()
    wanted.BasicLimitInformation.LimitFlags = (
        LIMIT_KILL_ON_JOB_CLOSE
        | LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        | LIMIT_ACTIVE_PROCESS
        | LIMIT_JOB_MEMORY
    )
    wanted.BasicLimitInformation.ActiveProcessLimit = _MOST_PROCESSES
    wanted.JobMemoryLimit = min(_MOST_MEMORY_BYTES, c_size_t(-1).value)
    return wanted


class Job:
    """The job object that this process is in.

    Raises:
        OSError: Windows refuses it.
    """

    def __init__(self, kernel32: Any) -> None:
        self._kernel32 = kernel32
        wanted = limits()
        self._handle = kernel32.CreateJobObjectW(None, None)
        contained = (
            self._handle
            and kernel32.SetInformationJobObject(
                c_void_p(self._handle),
                EXTENDED_LIMIT_INFORMATION,
                ctypes.byref(wanted),
                sizeof(wanted),
            )
            and kernel32.AssignProcessToJobObject(
                c_void_p(self._handle), c_void_p(kernel32.GetCurrentProcess())
            )
        )
        if not contained:
            raise OSError("no job object")

    def end_with(self, parent: int) -> threading.Thread:
        """End every process in the job when the process with the id `parent` has ended."""
        thread = threading.Thread(target=self._wait_for, args=(parent,), daemon=True)
        thread.start()
        return thread

    def _wait_for(self, parent: int) -> None:
        process = self._kernel32.OpenProcess(SYNCHRONIZE, 0, parent)
        if process:
            self._kernel32.WaitForSingleObject(c_void_p(process), c_uint32(INFINITE))
        self._kernel32.TerminateJobObject(c_void_p(self._handle), 1)


def contain() -> Optional[Job]:
    """Put this process into a job; None where there are none, or where it is refused."""
    if sys.platform != "win32":
        return None
    kernel32 = ctypes.WinDLL("kernel32")
    # Handles are pointers; the default result, an int, would cut them.
    for name in ("CreateJobObjectW", "OpenProcess", "GetCurrentProcess"):
        getattr(kernel32, name).restype = c_void_p
    try:
        return Job(kernel32)
    except OSError:
        return None
