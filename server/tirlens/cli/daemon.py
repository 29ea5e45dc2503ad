"""``tirlens daemon``: a process in the background that executes the commands of a workspace."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tirlens.cli.errors import UsageError
from tirlens.cli.warm import client
from tirlens.cli.warm.address import NoDaemonError, socket_path, workspace_of

_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 15.0
_STEP_S = 0.05


def execute(arguments: argparse.Namespace) -> int:
    """Start, stop, describe or be the daemon of the workspace of the present folder."""
    if arguments.idle_minutes <= 0:
        raise UsageError("--idle-minutes must be above 0")
    try:
        workspace = workspace_of(Path.cwd())
        path = socket_path(workspace)
        action = {"start": _start, "stop": _stop, "status": _status, "run": _run}
        return action[arguments.action](workspace, path, arguments.idle_minutes)
    except NoDaemonError as error:
        raise UsageError(str(error)) from error


def _start(workspace: Path, path: Path, idle_minutes: float) -> int:
    answer = client.ask(workspace, "status")
    if answer is None:
        command = [
            *(sys.executable, "-m", "tirlens", "daemon", "run"),
            *("--idle-minutes", f"{idle_minutes:g}"),
        ]
        process = subprocess.Popen(
            command,
            cwd=workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        answer = _wait_for_start(workspace, process)
    print(f"tirlens: daemon {answer['pid']} executes the commands below {workspace}")
    return 0


def _wait_for_start(workspace: Path, process: subprocess.Popen[bytes]) -> dict[str, object]:
    deadline_s = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < deadline_s:
        answer = client.ask(workspace, "status")
        if answer is not None:
            return answer
        if process.poll() is not None:
            _, errors = process.communicate()
            raise NoDaemonError(errors.decode("utf-8", "replace").strip().removeprefix("tirlens: "))
        time.sleep(_STEP_S)
    process.kill()
    raise NoDaemonError(f"the daemon did not answer within {_START_LIMIT_S:g} s")


def _stop(workspace: Path, path: Path, _: float) -> int:
    answer = client.ask(workspace, "stop")
    if answer is None:
        print(f"tirlens: no daemon is running for {workspace}")
        return 0
    deadline_s = time.monotonic() + _STOP_LIMIT_S
    while path.exists() and time.monotonic() < deadline_s:
        time.sleep(_STEP_S)
    print(f"tirlens: daemon {answer['pid']} has ended")
    return 0


def _status(workspace: Path, _path: Path, _: float) -> int:
    answer = client.ask(workspace, "status")
    if answer is None:
        print(f"tirlens: no daemon is running for {workspace}")
        return 1
    state = "executes a command" if answer["is_busy"] else "waits"
    print(
        f"tirlens: daemon {answer['pid']} of {workspace} {state}; version {answer['version']}, "
        f"{answer['executed']} commands in {answer['uptime_s'] / 60:.0f} min, "
        f"ends after {answer['idle_s'] / 60:g} min without one"
    )
    return 0


def _run(_workspace: Path, path: Path, idle_minutes: float) -> int:
    from tirlens.cli import execute_here
    from tirlens.cli.warm.server import Daemon
    from tirlens.cli.worker_pool import keep_workers

    with keep_workers():
        Daemon(path, execute_here, 60 * idle_minutes).serve()
    return 0
