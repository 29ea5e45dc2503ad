"""The process between the server and a worker (Linux).

It waits for the worker, ends what the worker leaves, and ends in the same way. User code runs in
neither of them. Each end of the three is noticed by another: the guard receives a signal when the
server ends, the worker when the guard ends, and the guard waits for the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any, Callable, NoReturn, Optional

from . import limits


def enter(parent: Optional[int], end_rest: Callable[[], None]) -> None:
    """Go on in a new process, and have the calling one guard it.

    The guard ends with the process `parent`, and the new one with it. Processes that the new one
    leaves become the guard's children, and `end_rest` is called in it to end them.
    """
    limits.adopt_orphans()
    own = os.getpid()
    # The new process must not run the guard's handler.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    pid = os.fork()
    if pid:
        watch(pid, parent, end_rest)
    limits.die_with_parent(own, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


def watch(pid: int, parent: Optional[int], end_rest: Callable[[], None]) -> NoReturn:
    """Wait for the child `pid`, call `end_rest`, and end in the same way as the child.

    SIGTERM, which the end of the process `parent` sends too, kills the child.
    """
    limits.set_name("tirlens-guard")
    limits.hide()

    def kill_child(_number: int, _frame: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, kill_child)
    if parent is not None:
        limits.prctl(limits.PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os.kill(pid, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    status = _wait_for(pid)
    end_rest()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        limits.write_no_core()
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _wait_for(pid: int) -> int:
    """The wait status of the child `pid`; other children that end before are reaped."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return status
