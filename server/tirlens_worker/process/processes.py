"""Processes that an analysis has started: find, count and end them."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Iterable, List, Set

from ..isolation import namespace

groups: Set[int] = set()
"""The process groups of running analyses."""


def kill_group(group: int) -> None:
    """Kill the process group `group`, if it is there and ours."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def kill_descendants() -> None:
    """Kill what this process has started, without waiting until it has ended."""
    for group in groups:
        kill_group(group)
    if namespace.is_entered():
        # All at once: none can fork past it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)


def end_descendants() -> None:
    """Kill all children, and on Linux those of their children that so become ours; reap them.

    In a namespace of our own what is killed stays so, and those that wait for their turn to end,
    on a busy machine, are left to a later call.
    """
    kill_descendants()
    if namespace.is_entered():
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return
    for _ in range(1000):
        for pid in _children(os.getpid()):
            kill_group(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


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
    return sum(not _is_ending(pid) for pid in processes)


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)


def _is_ending(pid: int) -> bool:
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
        for thread in os.listdir(folder):
            with contextlib.suppress(OSError), open(folder + thread + "/children") as file:
                found += map(int, file.read().split())
    return found
