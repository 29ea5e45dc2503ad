"""Processes that an analysis has started: find, count and end them."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import List, Set

from . import namespace

groups: Set[int] = set()
"""The process groups of running analyses."""


def kill_group(group: int) -> None:
    """Kill the process group `group`, if it is there and ours."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def end_descendants() -> None:
    """Kill and reap all children, and on Linux those of their children that so become ours."""
    for group in groups:
        kill_group(group)
    if namespace.is_entered():
        # All at once: none can fork past it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        return
    for _ in range(1000):
        for pid in _children():
            kill_group(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            pid, _ = os.waitpid(-1, 0)
        except ChildProcessError:
            return


def descendants_exceed(limit: int) -> bool:
    """Whether this process has more than `limit` living descendants (Linux)."""
    pending, seen = [os.getpid()], 0
    while pending:
        pid = pending.pop()
        try:
            with open("/proc/{0}/task/{0}/children".format(pid)) as file:
                found = [int(word) for word in file.read().split()]
        except (OSError, ValueError):
            continue
        seen += len(found)
        pending += found
        if seen > limit:
            return True
    return False


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)


def _children() -> List[int]:
    try:
        with open("/proc/self/task/{}/children".format(os.getpid())) as file:
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []
