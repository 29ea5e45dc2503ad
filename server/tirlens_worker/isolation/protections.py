"""Which protections this system has: each is tried in a process of its own.

``python tirlens_worker/__main__.py protections`` prints the answers as a JSON object.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from typing import Callable, Dict

from . import cgroup, landlock, limits, memory, namespace, seccomp


def main() -> int:
    """Print what there is; the exit status is 0."""
    print(json.dumps(present()))
    return 0


def present() -> Dict[str, bool]:
    """Whether each protection is there, by its name."""
    return {name: _holds(attempt) for name, attempt in _ATTEMPTS.items()}


def _holds(attempt: Callable[[], bool]) -> bool:
    """Whether `attempt` is true in a forked process; False where there are none."""
    if not sys.platform.startswith("linux"):
        return False
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if attempt() else 1
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def _refuses_network() -> bool:
    return seccomp.install(seccomp.Protected()) and _error(socket.socket) == errno.EACCES


def _refuses_signals() -> bool:
    # Signal 0 is none: it asks whether one could be sent.
    installed = seccomp.install(seccomp.ancestors(os.getppid()))
    return installed and _error(lambda: os.kill(os.getppid(), 0)) == errno.EPERM


def _refuses_signals_to_all() -> bool:
    return landlock.enter_domain() and _error(lambda: os.kill(os.getppid(), 0)) == errno.EPERM


def _error(work: Callable[[], object]) -> int:
    """The number of the error with which `work` fails; 0 for none."""
    try:
        work()
    except OSError as error:
        return error.errno or 0
    return 0


_ATTEMPTS: Dict[str, Callable[[], bool]] = {
    "pid_namespace": namespace.is_possible,
    "user_namespace": namespace.is_possible_for_users,
    "subreaper": limits.adopt_orphans,
    "signals_to_ancestors": _refuses_signals,
    "signals_to_others": _refuses_signals_to_all,
    "network": _refuses_network,
    "memory_sum": memory.is_measurable,
    "cgroup": cgroup.is_possible,
}
