"""Processes that an analysis has started: find, count and end them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Dict, Iterable, List, Set

from ..isolation import namespace

_END_LIMIT_S = 10.0
_FIRST_POLL_S, _LAST_POLL_S = 0.002, 0.05
_LOWEST_PRIORITY = 19
# Of more descendants than this, one is not kept.
_MOST_KEPT = 64
groups: Set[int] = set()
"""The process groups of running analyses."""
kept: Set[int] = set()
"""Children that outlive an analysis."""


def kill_group(group: int) -> None:
    """Kill the process group `group`, if it is there and ours."""
    try:
        if hasattr(os, "setpriority"):
            # The ends of many processes would otherwise take most of the processor's time.
            os.setpriority(os.PRIO_PGRP, group, _LOWEST_PRIORITY)
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def kill_groups() -> None:
    """Kill the groups of running analyses, and in a namespace all; do not wait for their ends."""
    for group in groups:
        kill_group(group)
    if namespace.is_entered():
        # All at once: none can fork past it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)


def has_strays() -> bool:
    """Whether processes run that are neither `kept` nor about to end; true where none can be seen.

    Those of running analyses are among them, until they are killed.
    """
    if not kept or not sys.platform.startswith("linux"):
        return True
    return any(pid not in kept and not is_ending(pid) for pid in find_descendants(_MOST_KEPT))


def is_child(pid: int) -> bool:
    """Whether `pid` is a child of this process (Linux)."""
    return pid in _children(os.getpid())


def kill_descendants() -> None:
    """Kill what this process has started, without waiting until it has ended."""
    kill_groups()
    if not namespace.is_entered():
        _kill_outside_groups(below_groups=True)


def end_descendants() -> None:
    """Kill all children, and on Linux those of their children that so become ours; reap them.

    In a namespace of our own what is killed stays so, and those that wait for their turn to end,
    on a busy machine, are left to a later call.
    """
    kill_groups()
    with contextlib.suppress(ChildProcessError):
        if namespace.is_entered():
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return
        deadline, pause_s = time.monotonic() + _END_LIMIT_S, _FIRST_POLL_S
        while time.monotonic() < deadline:
            _kill_outside_groups(below_groups=False)
            # Until there are no children any more, which is an error.
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LAST_POLL_S)


def _kill_outside_groups(below_groups: bool) -> None:
    # Children first: one that is stopped when its parent ends would be continued.
    for pid in reversed(_stop_descendants(below_groups)):
        _send(pid, signal.SIGKILL)


def _stop_descendants(below_groups: bool) -> List[int]:
    """Stop all descendants, those too that are started meanwhile; parents come before children.

    A process that is stopped starts no other. The youngest are stopped first: of processes that
    start another and end, over and over, one is met while it lives. Those of killed groups are
    left out. Their children become ours, and are searched for before with `below_groups`.
    """
    stopped: Dict[int, None] = {}
    deadline = time.monotonic() + _END_LIMIT_S
    is_complete = False
    while not is_complete and time.monotonic() < deadline:
        is_complete = True
        own = _children(os.getpid())
        pending = own[:]
        while pending:
            pid = pending.pop()
            if pid not in stopped:
                if not _is_in_group(pid):
                    is_complete = False
                    _send(pid, signal.SIGSTOP)
                    stopped[pid] = None
                elif not below_groups:
                    continue
            pending += _children(pid)
        # Of one that has ended meanwhile, the children are now ours.
        is_complete = is_complete and _children(os.getpid()) == own
    return list(stopped)


def _is_in_group(pid: int) -> bool:
    try:
        return os.getpgid(pid) in groups
    except ProcessLookupError:
        return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def reap_orphans() -> None:
    """Reap the children that have ended, but for those that run an analysis (Linux).

    Processes that start another and end would take all of the system's ids.
    """
    for pid in _children(os.getpid()):
        if pid not in groups:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def find_descendants(most: int) -> List[int]:
    """The descendants of this process, or the first `most` + 1 of them (Linux)."""
    pending: List[int] = [os.getpid()]
    found: List[int] = []
    while pending and len(found) <= most:
        children = _children(pending.pop())
        found += children
        pending += children
    return found[: most + 1]


def count_living(processes: Iterable[int]) -> int:
    """How many `processes` have neither ended nor been killed."""
    return sum(not is_ending(pid) for pid in processes)


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)


def is_ending(pid: int) -> bool:
    """Whether a process is gone, not yet reaped, or has a SIGKILL before it (proc(5), status)."""
    try:
        with open("/proc/{}/status".format(pid)) as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return True
    signals = int(fields.get("SigPnd", "0"), 16) | int(fields.get("ShdPnd", "0"), 16)
    state = fields.get("State", "").strip()[:1]
    return state in ("Z", "X") or bool(signals >> (signal.SIGKILL - 1) & 1)


def _children(pid: int) -> List[int]:
    """The children of a process, also those that threads other than the first have started."""
    folder = "/proc/{}/task/".format(pid)
    found: List[int] = []
    with contextlib.suppress(OSError):
        # A folder has two links and one for each folder in it.
        has_one_thread = os.stat(folder).st_nlink == 3
        for thread in [str(pid)] if has_one_thread else os.listdir(folder):
            with contextlib.suppress(OSError), open(folder + thread + "/children") as file:
                found += map(int, file.read().split())
    return found
