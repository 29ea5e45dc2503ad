"""Run a command as in a container: the system calls that make namespaces or mount are refused.

    python tests/support/without_namespaces.py [--no-landlock] COMMAND...

The filter is that of container engines' default profiles in this respect (x86-64, aarch64,
riscv64): unshare, setns, mount and clone with a flag for a namespace fail, clone3 does not exist.
`--no-landlock` has Landlock not exist either, as in kernels before 5.13.  Suites run so by

    python tests/support/without_namespaces.py python -m pytest tests/worker tests/robust

as root, and as another user with ``setpriv --reuid=nobody --regid=nogroup --clear-groups``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x50000
_NUMBER, _FIRST_ARGUMENT = 0, 16
# unshare, setns, mount; clone.
_NUMBERS = {
    "x86_64": ((272, 308, 165), 56),
    "aarch64": ((97, 268, 40), 220),
    "riscv64": ((97, 268, 40), 220),
}
_CLONE3 = 435
_LANDLOCK = (444, 445, 446)
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NAMESPACES = 0x7E020000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def _filter(machine: str, has_landlock: bool) -> bytes:
    refused, clone = _NUMBERS[machine]
    absent = (_CLONE3, *(() if has_landlock else _LANDLOCK))
    steps: list[tuple[int, int, int, int]] = [(_LOAD, 0, 0, _NUMBER)]
    for numbers, code in ((refused, errno.EPERM), (absent, errno.ENOSYS)):
        for number in numbers:
            steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | code)]
    steps += [
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _NAMESPACES),
        (_RETURN, 0, 0, _ERROR | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def refuse_namespaces(has_landlock: bool = True) -> None:
    """Put this process, and all that it starts, under the filter."""
    program = _filter(platform.machine(), has_landlock)
    libc = ctypes.CDLL(None, use_errno=True)
    header = _Program(len(program) // 8, program)
    refused = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0
    )
    if refused:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    without_landlock = arguments[:1] == ["--no-landlock"]
    refuse_namespaces(not without_landlock)
    command = arguments[1:] if without_landlock else arguments
    os.execvp(command[0], command)
