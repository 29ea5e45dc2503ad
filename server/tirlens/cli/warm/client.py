"""A command that asks the daemon of its workspace to execute it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tirlens.cli.warm.address import NoDaemonError, is_private, socket_path, workspace_of
from tirlens.cli.warm.messages import INTERRUPT, receive, send
from tirlens.cli.warm.peers import is_trusted, stopped_pid
from tirlens.version import __version__

COMMANDS = frozenset({"analyze", "compare", "report"})
"""The commands that a daemon executes."""
_CONNECT_LIMIT_S = 0.5
_ANSWER_LIMIT_S = 10.0
_LOOK_S = 2.0
_INTERRUPTED = 130
_SWITCH = "TIRLENS_DAEMON"


def execute_warm(command: str, argv: Sequence[str]) -> int | None:
    """Have the daemon execute a command; None where this process has to do it.

    That is where no daemon was started, where it is of another version or busy, in CI, and where
    ``TIRLENS_DAEMON`` is ``0``.
    """
    if command not in COMMANDS or os.environ.get("CI") or os.environ.get(_SWITCH) == "0":
        return None
    # A standard stream may be closed.
    streams = (sys.stdout, sys.stderr)
    if any(stream is None for stream in streams):  # pyright: ignore[reportUnnecessaryComparison]
        return None
    try:
        descriptors = [stream.fileno() for stream in streams]
        cwd = Path.cwd()
        connection = connect(cwd)
    except (OSError, ValueError):
        return None
    if connection is None:
        return None
    with connection:
        request = {
            "ask": "execute",
            "version": __version__,
            "argv": list(argv),
            "cwd": str(cwd),
            "environment": {**os.environ, **_terminal_size()},
            "umask": _umask(),
            "streams": [[stream.encoding, stream.errors] for stream in streams],
        }
        for stream in streams:
            stream.flush()
        stopped = stopped_pid(connection)
        if stopped is not None:
            print(f"{_stop_message(stopped)}; this command does not use it", file=sys.stderr)
            return None
        return _execute(connection, request, descriptors)


def ask(cwd: Path, question: str) -> dict[str, Any] | None:
    """The answer of the daemon of the workspace of `cwd`; None if none answers.

    Raises:
        NoDaemonError: there can be no daemon here.
    """
    with contextlib.suppress(OSError, ValueError):
        connection = connect(cwd, raises=True)
        if connection is not None:
            with connection:
                stopped = stopped_pid(connection)
                if stopped is not None:
                    raise NoDaemonError(_stop_message(stopped).removeprefix("tirlens: "))
                connection.settimeout(_ANSWER_LIMIT_S)
                send(connection, {"ask": question})
                answer = receive(connection)
                return answer and answer[0]
    return None


def connect(cwd: Path, *, raises: bool = False) -> socket.socket | None:
    """A connection to the daemon of the workspace of `cwd`; None if there is none.

    Raises:
        NoDaemonError: there can be no daemon here, and `raises` is true.
    """
    try:
        path = socket_path(workspace_of(cwd))
    except NoDaemonError:
        if raises:
            raise
        return None
    if not path.exists() or not is_private(path.parent):
        return None
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_CONNECT_LIMIT_S)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    connection.settimeout(None)
    if not is_trusted(connection):
        connection.close()
        return None
    return connection


def _execute(
    connection: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int]
) -> int | None:
    interrupts: list[int] = []

    def interrupt(*_: object) -> None:
        if interrupts:
            os._exit(_INTERRUPTED)
        interrupts.append(1)
        with contextlib.suppress(OSError):
            connection.sendall(INTERRUPT)

    try:
        connection.settimeout(_ANSWER_LIMIT_S)
        send(connection, request, descriptors)
        answer = receive(connection)
    except (OSError, ValueError):
        return None
    if not answer or not answer[0].get("accepted"):
        return None
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        _wait(connection)
        ended = receive(connection)
    except (OSError, ValueError):
        ended = None
    finally:
        signal.signal(signal.SIGINT, before)
    if ended is None:
        print("tirlens: the daemon has ended; repeat the command", file=sys.stderr)
        return 1
    return int(ended[0]["status"])


def _wait(connection: socket.socket) -> None:
    """Wait until the daemon says something, and say if it is stopped."""
    connection.settimeout(None)
    is_said = False
    while not select.select([connection], [], [], _LOOK_S)[0]:
        stopped = None if is_said else stopped_pid(connection)
        if stopped is not None:
            is_said = True
            print(f"{_stop_message(stopped)}; two interrupts end this command", file=sys.stderr)


def _stop_message(pid: int) -> str:
    return f"tirlens: the daemon {pid} is stopped: kill -CONT {pid} continues it, kill -9 ends it"


def _terminal_size() -> dict[str, str]:
    """The size of the terminal as variables: the daemon has none to ask."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(descriptor)
            found = {"COLUMNS": str(size.columns), "LINES": str(size.lines)}
            return {**found, **{name: os.environ[name] for name in found if name in os.environ}}
    return {}


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
