"""No network while user code runs: not to the world, and not to services of this machine either.

On Linux the kernel refuses sockets of any family but AF_UNIX and AF_NETLINK to the process and
to all that it starts (a seccomp filter, which needs no privilege and cannot be taken off).  An
audit hook says so in Python's words, and is all there is on other systems: it binds code that
goes through Python's `socket`, and no C code and no other program.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from typing import Any, Dict, List, Optional, Tuple

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
# linux/seccomp.h: what a filter returns.
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EACCES
# linux/bpf_common.h: load a word, jump if equal, jump if greater or equal, return.
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# linux/audit.h and asm/unistd.h: architecture and number of socket(2).  io_uring could make sockets
# past the filter; its io_uring_setup(2) has the same number on all of them.
_MACHINES: Dict[str, Tuple[int, int]] = {
    "x86_64": (0xC000003E, 41),
    "aarch64": (0xC00000B7, 198),
    "riscv64": (0xC00000F3, 198),
}
_IO_URING_SETUP = 425
# System calls of x32, another numbering within x86_64's architecture, start here.
_X32 = 0x40000000
_AF_UNIX, _AF_NETLINK = 1, 16
# Offsets in struct seccomp_data.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_EVENTS = frozenset(
    ["socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto"]
)


class NetworkClosedError(PermissionError):
    """User code wanted to use the network."""


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def close() -> bool:
    """Close the network for this process and what it starts; whether the kernel sees to it.

    This cannot be undone.
    """
    sys.addaudithook(_refuse)
    program = filter_program(platform.machine()) if sys.platform.startswith("linux") else None
    if program is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    header = _Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0) == 0


def filter_program(machine: str) -> Optional[bytes]:
    """The filter as an array of ``struct sock_filter``; None for a machine that is not known."""
    if machine not in _MACHINES or sys.byteorder != "little":
        return None
    architecture, socket_number = _MACHINES[machine]
    # Each jump leads to the end: 'refuse', 'allow', or on to the next instruction.
    steps: List[Tuple[int, int, str, str]] = [
        (_LOAD, _ARCHITECTURE, "", ""),
        (_EQUAL, architecture, "", "refuse"),
        (_LOAD, _NUMBER, "", ""),
        (_AT_LEAST, _X32, "refuse", ""),
        (_EQUAL, _IO_URING_SETUP, "refuse", ""),
        (_EQUAL, socket_number, "", "allow"),
        (_LOAD, _FIRST_ARGUMENT, "", ""),
        (_EQUAL, _AF_UNIX, "allow", ""),
        (_EQUAL, _AF_NETLINK, "allow", "refuse"),
        (_RETURN, _REFUSE, "", ""),
        (_RETURN, _ALLOW, "", ""),
    ]
    ends = {"refuse": len(steps) - 2, "allow": len(steps) - 1}
    return b"".join(
        struct.pack("<HBBI", code, *(ends.get(to, at + 1) - at - 1 for to in (yes, no)), value)
        for at, (code, value, yes, no) in enumerate(steps)
    )


def _refuse(event: str, arguments: Tuple[Any, ...]) -> None:
    is_socket = event == "socket.__new__" and arguments[1] not in (_AF_UNIX, _AF_NETLINK, -1)
    if is_socket or event in _EVENTS:
        raise NetworkClosedError("no network while a file is analysed: {}".format(event))
