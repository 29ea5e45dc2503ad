"""The filter of system calls that analysed code and all that it starts are subject to (Linux).

It refuses

- sockets of any family but AF_UNIX and AF_NETLINK, and io_uring, which could make sockets past it;
- signals to all processes at once, and to the processes and groups that are protected: the worker
  and its ancestors, which are the server, the editor and what started it;
- to trace a protected process, to access its memory, to change its limits, to hold a descriptor of
  it, and to enter a protected group;
- signals by descriptor, as a filter cannot see whose it is. Programs then send them by id.

A filter needs no privilege, is inherited, and cannot be removed (seccomp(2)). It sees numbers: a
thread of a protected process has an id that it does not know.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
# linux/seccomp.h: what a filter returns.
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
# linux/bpf_common.h: load a word, jump if equal, jump if greater or equal, return.
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# System calls of x32, another numbering within x86_64's architecture, start here.
_X32 = 0x40000000
_AF_UNIX, _AF_NETLINK = 1, 16
# Offsets in struct seccomp_data; of an argument, the low word.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24


class _Calls(NamedTuple):
    """The architecture as in linux/audit.h, and numbers of asm/unistd.h.

    `on_process` are tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, process_vm_readv,
    process_vm_writev and prlimit64, whose first argument is a process.
    """

    architecture: int
    socket: int
    kill: int
    setpgid: int
    ptrace: int
    on_process: Tuple[int, ...]


_GENERIC = _Calls(0, 198, 129, 154, 117, (130, 131, 138, 240, 270, 271, 261))
_MACHINES: Dict[str, _Calls] = {
    "x86_64": _Calls(0xC000003E, 41, 62, 109, 101, (200, 234, 129, 297, 310, 311, 302)),
    "aarch64": _GENERIC._replace(architecture=0xC00000B7),
    "riscv64": _GENERIC._replace(architecture=0xC00000F3),
}
# A jump within the filter has at most 255 steps.
_MOST_ANCESTORS = 24
# These have the same number on all machines.
_PIDFD_SEND_SIGNAL, _IO_URING_SETUP, _PIDFD_OPEN = 424, 425, 434


class Protected(NamedTuple):
    """Processes and process groups that analysed code cannot signal."""

    processes: Tuple[int, ...] = ()
    groups: Tuple[int, ...] = ()


def ancestors(pid: int) -> Protected:
    """The process `pid`, its parent and so on, as far as they can be seen, and their groups."""
    processes: List[int] = []
    groups: List[int] = []
    while pid > 0 and len(processes) < _MOST_ANCESTORS:
        try:
            with open("/proc/{}/stat".format(pid), "rb") as file:
                # The name of the program, in parentheses, may have spaces and parentheses.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            break
        processes.append(pid)
        # A group outside of the namespace is 0.
        groups += [group for group in [int(fields[2])] if group > 0 and group not in groups]
        pid = int(fields[1])
    return Protected(tuple(processes), tuple(groups))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


# Code, value, and where to jump if the comparison holds and if not: to a label, or on.
_Step = Tuple[int, int, str, str]


def install(protected: Protected) -> bool:
    """Put this process under the filter; whether the kernel accepts it. It cannot be undone."""
    program = filter_program(platform.machine(), protected)
    if program is None or not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    header = _Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0) == 0


def filter_program(machine: str, protected: Protected) -> Optional[bytes]:
    """The filter as an array of ``struct sock_filter``; None for a machine that is not known."""
    if machine not in _MACHINES or sys.byteorder != "little":
        return None
    calls = _MACHINES[machine]
    dispatch: List[_Step] = [
        (_LOAD, _ARCHITECTURE, "", ""),
        (_EQUAL, calls.architecture, "", "EACCES"),
        (_LOAD, _NUMBER, "", ""),
        (_AT_LEAST, _X32, "EACCES", ""),
        (_EQUAL, _IO_URING_SETUP, "EACCES", ""),
        (_EQUAL, _PIDFD_SEND_SIGNAL, "ENOSYS", ""),
        (_EQUAL, calls.socket, "socket", ""),
        (_EQUAL, calls.kill, "kill", ""),
        (_EQUAL, calls.setpgid, "group", ""),
        (_EQUAL, calls.ptrace, "trace", ""),
        *((_EQUAL, number, "process", "") for number in (*calls.on_process, _PIDFD_OPEN)),
        (_RETURN, _ALLOW, "", ""),
    ]
    families = [(_EQUAL, family, "allow", "") for family in (_AF_UNIX, _AF_NETLINK)]
    sections: Dict[str, List[_Step]] = {
        "socket": [(_LOAD, _FIRST_ARGUMENT, "", ""), *families, (_RETURN, _code("EACCES"), "", "")],
        "kill": _section(
            _FIRST_ARGUMENT, (-1, *protected.processes, *(-group for group in protected.groups))
        ),
        "group": _section(_SECOND_ARGUMENT, protected.groups),
        "trace": _section(_SECOND_ARGUMENT, protected.processes),
        "process": _section(_FIRST_ARGUMENT, protected.processes),
        "EACCES": [(_RETURN, _code("EACCES"), "", "")],
        "EPERM": [(_RETURN, _code("EPERM"), "", "")],
        "ENOSYS": [(_RETURN, _code("ENOSYS"), "", "")],
        "allow": [(_RETURN, _ALLOW, "", "")],
    }
    return _assemble(dispatch, sections)


def _section(argument: int, refused: Sequence[int]) -> List[_Step]:
    """Refuse a call whose argument is one of the numbers."""
    comparisons = [(_EQUAL, number & 0xFFFFFFFF, "EPERM", "") for number in refused]
    return [(_LOAD, argument, "", ""), *comparisons, (_RETURN, _ALLOW, "", "")]


def _code(name: str) -> int:
    return _ERROR | int(getattr(errno, name))


def _assemble(dispatch: List[_Step], sections: Dict[str, List[_Step]]) -> bytes:
    """The instructions, with the distances to the labels, of at most 255."""
    steps = list(dispatch)
    labels: Dict[str, int] = {}
    for label, section in sections.items():
        labels[label] = len(steps)
        steps += section
    return b"".join(
        struct.pack("<HBBI", code, *(labels.get(to, at + 1) - at - 1 for to in (yes, no)), value)
        for at, (code, value, yes, no) in enumerate(steps)
    )
