"""A process namespace for the worker and all that it starts (Linux).

The worker is the first process of its namespace, as `init` is of a machine: when it ends, for
whatever reason, the kernel ends everything in it, sessions of their own and daemons too.  What runs
in it sees and reaches no process outside, neither the server nor the editor, and cannot kill the
worker itself.  Root may make such a namespace, others may within a user namespace of their own,
which maps them to themselves; some systems and most containers refuse both (pid_namespaces(7),
user_namespaces(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from typing import Any, Callable, Optional

from . import guard, limits

# linux/sched.h, linux/mount.h and linux/capability.h.
_NEW_MOUNTS, _NEW_USER, _NEW_PROCESSES = 0x00020000, 0x10000000, 0x20000000
_NO_SET_UID, _NO_DEVICES, _NO_EXECUTION, _RECURSIVE, _SLAVE = (
    1 << 1,
    1 << 2,
    1 << 3,
    1 << 14,
    1 << 19,
)
_CAPABILITY_VERSION_3 = 0x20080522


# Root needs no user namespace.
_IS_USER = hasattr(os, "getuid") and os.getuid() != 0


class _State:
    outer_pid: Optional[int] = None


def enter(
    parent: Optional[int],
    as_user: bool = _IS_USER,
    end_rest: Callable[[], None] = lambda: None,
) -> bool:
    """Go on as the first process of a new namespace; whether the system allows it.

    The calling process stays behind, waits for the new one, calls `end_rest`, and ends as it does.
    It ends with the process `parent`, and the new one with it.  `as_user` makes a user namespace
    first.
    """
    if not sys.platform.startswith("linux") or not is_possible(as_user):
        return False
    _unshare(as_user)
    ours, guards = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ours)
        # The kernel ends all that is in the namespace.
        guard.watch(pid, parent, end_rest)
    os.close(guards)
    limits.prctl(limits.PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([ours], [], [], 0)[0]:
        # The guard had ended before that was set.
        os._exit(1)
    os.close(ours)
    _State.outer_pid = int(os.readlink("/proc/self"))
    _show_own_processes()
    if as_user:
        _drop_capabilities()
    return True


def is_possible(as_user: bool = _IS_USER) -> bool:
    """Whether the system allows a new namespace, to users by a user namespace."""

    # What has been unshared cannot be taken back: another process tries all of it.
    def attempt() -> None:
        _unshare(as_user)
        _in_child(_show_own_processes)

    try:
        _in_child(attempt)
    except OSError:
        return False
    return True


def is_possible_for_users() -> bool:
    """Whether the system allows a new user namespace."""
    try:
        _in_child(lambda: _call("unshare", _NEW_USER))
    except OSError:
        return False
    return True


def is_entered() -> bool:
    """Whether this process is the first of a namespace that it has entered."""
    return _State.outer_pid is not None and os.getpid() == 1


def pid_outside() -> int:
    """This process's id, as the processes outside see it."""
    return os.getpid() if _State.outer_pid is None else _State.outer_pid


def _in_child(work: Callable[[], None]) -> None:
    """Do `work` in a process of its own.

    Raises:
        OSError: it has failed there, or there can be no such process.
    """
    pid = os.fork()
    if pid == 0:
        status = 1
        with contextlib.suppress(OSError):
            work()
            status = 0
        os._exit(status)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError("refused")


def _unshare(as_user: bool) -> None:
    """Have the next child be the first process of a namespace.

    Raises:
        OSError: the system refuses.
    """
    ids = os.getuid(), os.getgid()
    _call("unshare", _NEW_PROCESSES | (_NEW_USER if as_user else 0))
    if as_user:
        with open("/proc/self/setgroups", "w") as file:
            file.write("deny")
        for name, own in zip(("uid_map", "gid_map"), ids):
            with open("/proc/self/" + name, "w") as file:
                file.write("{0} {0} 1".format(own))


def _show_own_processes() -> None:
    """Show the processes of the namespace, and no others, in ``/proc``.

    Raises:
        OSError: the system refuses.
    """
    _call("unshare", _NEW_MOUNTS)
    _call("mount", None, b"/", None, ctypes.c_ulong(_RECURSIVE | _SLAVE), None)
    flags = ctypes.c_ulong(_NO_SET_UID | _NO_DEVICES | _NO_EXECUTION)
    _call("mount", b"proc", b"/proc", b"proc", flags, None)


def _drop_capabilities() -> None:
    """Give up what one may do in a user namespace of one's own."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())


def _call(name: str, *arguments: Any) -> None:
    """Call the C library's function `name`.

    Raises:
        OSError: it is not there, or says that it failed.
    """
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None or function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
