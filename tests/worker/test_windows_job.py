"""Job objects as far as they can be tried without Windows: layouts, flags, the order of calls."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

from tirlens_worker.isolation import windows_job
from tirlens_worker.isolation.windows_job import BasicLimits, ExtendedLimits, Job


def test_the_structures_are_laid_out_as_windows_has_them() -> None:
    """Sizes and offsets of the 64-bit ABI, as the compiler of the Windows SDK gives them."""
    assert ctypes.sizeof(ctypes.c_void_p) == 8
    assert ctypes.sizeof(BasicLimits) == 64
    offsets = [getattr(BasicLimits, name).offset for name, _ in BasicLimits._fields_]
    assert offsets == [0, 8, 16, 24, 32, 40, 48, 56, 60]
    assert ctypes.sizeof(ExtendedLimits) == 144
    offsets = [getattr(ExtendedLimits, name).offset for name, _ in ExtendedLimits._fields_]
    assert offsets == [0, 64, 112, 120, 128, 136]


def test_the_limits_that_are_asked_for() -> None:
    wanted = windows_job.limits()
    # KILL_ON_JOB_CLOSE, DIE_ON_UNHANDLED_EXCEPTION, JOB_MEMORY, ACTIVE_PROCESS
    assert wanted.BasicLimitInformation.LimitFlags == 0x2000 | 0x400 | 0x200 | 0x8
    assert wanted.BasicLimitInformation.ActiveProcessLimit == 128
    assert wanted.JobMemoryLimit == 20 << 30
    data = bytes(wanted)
    assert data[16:20] == (0x2608).to_bytes(4, "little")
    assert data[120:128] == (20 << 30).to_bytes(8, "little")


class Kernel32:
    """Takes down the calls that Windows would get; those named in `refused` give 0."""

    def __init__(self, *refused: str) -> None:
        self.calls: list[str] = []
        self._refused = refused

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            handles = [item.value for item in arguments if isinstance(item, ctypes.c_void_p)]
            self.calls.append(f"{name}({', '.join(map(hex, handles))})")
            return 0 if name in self._refused else 1 << 40

        return call


def test_a_process_goes_into_a_job_of_its_own_that_ends_with_the_parent() -> None:
    kernel32 = Kernel32()
    Job(kernel32).end_with(4711).join(5)
    handle = hex(1 << 40)
    assert kernel32.calls == [
        "CreateJobObjectW()",
        f"SetInformationJobObject({handle})",
        "GetCurrentProcess()",
        f"AssignProcessToJobObject({handle}, {handle})",
        "OpenProcess()",
        f"WaitForSingleObject({handle})",
        f"TerminateJobObject({handle})",
    ]


def test_a_parent_that_is_gone_already_ends_the_job_at_once() -> None:
    kernel32 = Kernel32("OpenProcess")
    Job(kernel32).end_with(4711).join(5)
    assert kernel32.calls[-2:] == ["OpenProcess()", f"TerminateJobObject({hex(1 << 40)})"]


@pytest.mark.parametrize(
    "step", ["CreateJobObjectW", "SetInformationJobObject", "AssignProcessToJobObject"]
)
def test_what_windows_refuses_is_an_error(step: str) -> None:
    with pytest.raises(OSError, match="no job object"):
        Job(Kernel32(step))


def test_other_systems_have_no_jobs() -> None:
    assert (windows_job.contain() is None) == (sys.platform != "win32")
