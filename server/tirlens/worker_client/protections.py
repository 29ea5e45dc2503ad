"""The protections of analyses that this machine has, for ``tirlens doctor``."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tirlens.worker_client.process import SCRIPT, worker_environment

_LIMIT_S = 20.0
_MEANINGS = {
    "pid_namespace": "PID namespace: the code sees and signals no process outside its analysis, "
    "and what it starts ends with it",
    "user_namespace": "user namespace: users other than root can have a PID namespace",
    "subreaper": "subreaper: without a PID namespace, too, what the code starts ends with it",
    "signals_to_ancestors": "seccomp, signals: the code cannot signal or trace the worker, the "
    "server and the editor",
    "signals_to_others": "Landlock, signals: nor any other process that it has not started",
    "network": "seccomp, network: the kernel refuses the network to the code and its programs",
    "memory_sum": "memory: the sum over all processes of an analysis is measured and limited",
    "cgroup": "control group: the kernel limits the memory and tasks of an analysis as a whole",
}


def protections() -> dict[str, tuple[bool, str]]:
    """Whether each protection is there, and what it does, by its name.

    They are tried by another process, which takes about 0.1 s. One that cannot be tried is not
    there.
    """
    try:
        ended = subprocess.run(
            [sys.executable, str(SCRIPT), "protections"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=worker_environment(os.environ),
            timeout=_LIMIT_S,
            check=True,
        )
        present: dict[str, bool] = json.loads(ended.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        present = {}
    return {name: (present.get(name) is True, text) for name, text in _MEANINGS.items()}
