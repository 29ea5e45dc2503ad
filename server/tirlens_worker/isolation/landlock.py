"""Analysed code reaches no process that it has not started (Linux 5.19, signals 6.12 and later).

A Landlock domain needs no privilege, is inherited, and cannot be left. Its processes can trace, and
access the memory, the environment and the open files of processes of the domain only, and send
signals to no others where the kernel has scopes (landlock(7)). It does not restrict files: which
places a module and the caches of the frameworks use is not known before.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Optional

_PR_SET_NO_NEW_PRIVS = 38
# linux/landlock.h; the system calls have the same number on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_SCOPE_SIGNAL = 1 << 1
_VERSION_WITH_SCOPES = 6
_VERSION_WITH_REFER = 2
# To rename and link files from one folder to another, which is refused unless a rule allows it.
_REFER = 1 << 13
_PATH_BENEATH = 1


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


def can_scope_signals() -> bool:
    """Whether the kernel has Landlock with scopes."""
    return sys.platform.startswith("linux") and _version() >= _VERSION_WITH_SCOPES


def enter_domain(has_scopes: Optional[bool] = None) -> bool:
    """Put this process into a domain; whether the kernel does. It cannot be undone.

    `has_scopes` is whether the kernel has scopes.
    """
    has_scopes = can_scope_signals() if has_scopes is None else has_scopes
    if not sys.platform.startswith("linux") or _version() < _VERSION_WITH_REFER:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    # A domain has to restrict something. Without scopes it is what a rule then allows everywhere.
    rules = _Ruleset(0, 0, _SCOPE_SIGNAL) if has_scopes else _Ruleset(_REFER, 0, 0)
    size = ctypes.sizeof(rules) if has_scopes else ctypes.sizeof(ctypes.c_uint64)
    ruleset = libc.syscall(
        ctypes.c_long(_CREATE_RULESET),
        ctypes.byref(rules),
        ctypes.c_size_t(size),
        ctypes.c_uint32(0),
    )
    if ruleset < 0:
        return False
    try:
        if not has_scopes and not _allow_everywhere(libc, ruleset):
            return False
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return libc.syscall(ctypes.c_long(_RESTRICT_SELF), ruleset, ctypes.c_uint32(0)) == 0
    finally:
        os.close(ruleset)


def _allow_everywhere(libc: ctypes.CDLL, ruleset: int) -> bool:
    """Allow renames below the root; whether the kernel does."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathBeneath(_REFER, root)
        arguments = ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0)
        return libc.syscall(ctypes.c_long(_ADD_RULE), ruleset, *arguments) == 0
    finally:
        os.close(root)


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
