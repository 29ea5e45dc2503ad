"""No signals from analysed code to processes that it has not started (Linux 6.12 and later).

A Landlock domain needs no privilege, is inherited, and cannot be left. Its processes can send
signals to, trace, and access the memory of processes of the domain only (landlock(7)). It does not
restrict files: which places a module and the caches of the frameworks use is not known before.
"""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_NO_NEW_PRIVS = 38
# linux/landlock.h; the system calls have the same number on all machines.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_CREATE_RULESET_VERSION = 1
_SCOPE_SIGNAL = 1 << 1
_VERSION_WITH_SCOPES = 6


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


def can_scope_signals() -> bool:
    """Whether the kernel has Landlock with scopes."""
    return sys.platform.startswith("linux") and _version() >= _VERSION_WITH_SCOPES


def scope_signals() -> bool:
    """Put this process into a domain; whether the kernel does. It cannot be undone."""
    if not can_scope_signals():
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    rules = _Ruleset(0, 0, _SCOPE_SIGNAL)
    ruleset = libc.syscall(
        ctypes.c_long(_CREATE_RULESET),
        ctypes.byref(rules),
        ctypes.c_size_t(ctypes.sizeof(rules)),
        ctypes.c_uint32(0),
    )
    if ruleset < 0:
        return False
    try:
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return libc.syscall(ctypes.c_long(_RESTRICT_SELF), ruleset, ctypes.c_uint32(0)) == 0
    finally:
        os.close(ruleset)


def _version() -> int:
    """The version of the kernel's interface; negative where there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return int(
        libc.syscall(
            ctypes.c_long(_CREATE_RULESET),
            None,
            ctypes.c_size_t(0),
            ctypes.c_uint32(_CREATE_RULESET_VERSION),
        )
    )
