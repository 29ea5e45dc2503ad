"""The daemon of a workspace: executes commands one after the other, as their own processes would.

A command runs in the main thread with the folder, the environment and the standard streams of the
process that asks. Modules, workers and what they have imported stay for the next one. A thread
accepts connections: it answers questions, and declines commands while one is executed.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import queue
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tirlens.cli.warm.address import NoDaemonError, is_private
from tirlens.cli.warm.client import COMMANDS
from tirlens.cli.warm.messages import receive, send
from tirlens.cli.warm.peers import is_trusted
from tirlens.version import __version__

Execute = Callable[[Sequence[str]], int]
_BACKLOG = 8
_ASK_LIMIT_S = 5.0
_PACKAGES = ("tirlens", "tirlens_counting", "tirlens_worker")


@dataclass
class _Job:
    """A command, and the connection of the process that waits for it."""

    connection: socket.socket
    request: Mapping[str, Any]
    descriptors: Sequence[int]
    is_ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Daemon:
    """The daemon that listens on a socket.

    Parameters
    ----------
    path
        The socket.
    execute
        Executes the arguments of a command, and returns its exit status.
    idle_s
        After so many seconds without a command the daemon ends.
    """

    def __init__(self, path: Path, execute: Execute, idle_s: float) -> None:
        self._path = path
        self._execute = execute
        self._idle_s = idle_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._running: _Job | None = None
        self._busy = threading.Lock()
        self._executed = 0
        self._began_s = time.monotonic()
        self._stamp = _source_stamp()

    def serve(self) -> None:
        """Execute commands until none came for long, or the daemon is stopped.

        Raises:
            NoDaemonError: another one listens, or the socket's folder is not private.
        """
        with _lock(self._path), self._listening() as listening:
            signal.signal(signal.SIGINT, self._on_interrupt)
            signal.signal(signal.SIGTERM, self._on_terminate)
            threading.Thread(target=self._accept_all, args=(listening,), daemon=True).start()
            for name in COMMANDS:
                importlib.import_module(f"tirlens.cli.{name}")
            while (job := self._next()) is not None:
                self._run(job)

    def _next(self) -> _Job | None:
        deadline_s = time.monotonic() + self._idle_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            # In steps: a signal is handled between two of them.
            with contextlib.suppress(queue.Empty):
                return self._jobs.get(timeout=min(left_s, 1.0))
        return None

    @contextlib.contextmanager
    def _listening(self) -> Generator[socket.socket, None, None]:
        self._path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            before = os.umask(0o177)
            try:
                listening.bind(str(self._path))
            finally:
                os.umask(before)
            listening.listen(_BACKLOG)
            try:
                yield listening
            finally:
                self._path.unlink(missing_ok=True)

    # In the thread that accepts

    def _accept_all(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            try:
                is_kept = is_trusted(connection) and self._answer(connection)
            except (OSError, ValueError, KeyError):
                is_kept = False
            if not is_kept:
                connection.close()

    def _answer(self, connection: socket.socket) -> bool:
        """Answer a process; whether the connection is kept for a command."""
        connection.settimeout(_ASK_LIMIT_S)
        received = receive(connection)
        connection.settimeout(None)
        if received is None:
            return False
        message, descriptors = received
        question = message.get("ask")
        if question == "execute":
            return self._start(_Job(connection, message, descriptors))
        _close(descriptors)
        if question == "status":
            send(connection, self._status())
        elif question == "stop":
            self._jobs.put(None)
            send(connection, {"pid": os.getpid()})
        return False

    def _start(self, job: _Job) -> bool:
        is_same = job.request.get("version") == __version__ and self._stamp == _source_stamp()
        if not is_same:
            # The program has changed: the next command starts without a daemon.
            self._jobs.put(None)
        if not is_same or not self._busy.acquire(blocking=False):
            send(job.connection, {"accepted": False})
            _close(job.descriptors)
            return False
        send(job.connection, {"accepted": True})
        self._jobs.put(job)
        threading.Thread(target=self._watch, args=(job,), daemon=True).start()
        return True

    def _watch(self, job: _Job) -> None:
        """Interrupt a command when its user does, or when the process that waits has ended."""
        with contextlib.suppress(OSError):
            job.connection.recv(1)
        with job.lock:
            if not job.is_ended:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": __version__,
            "executed": self._executed,
            "is_busy": self._busy.locked(),
            "uptime_s": time.monotonic() - self._began_s,
            "idle_s": self._idle_s,
        }

    # In the main thread

    def _on_interrupt(self, *_: object) -> None:
        job = self._running
        if job is not None and not job.is_ended:
            raise KeyboardInterrupt
        if job is None:
            self._jobs.put(None)

    def _on_terminate(self, *_: object) -> None:
        self._jobs.put(None)

    def _run(self, job: _Job) -> None:
        status = 1
        try:
            with _as_process_of(job):
                self._running = job
                status = self._execute(job.request["argv"])
        finally:
            with job.lock:
                job.is_ended = True
            self._running = None
            self._executed += 1
            _close(job.descriptors)
            self._busy.release()
            with contextlib.suppress(OSError):
                send(job.connection, {"status": status})
            job.connection.close()


@contextlib.contextmanager
def _as_process_of(job: _Job) -> Generator[None, None, None]:
    """The folder, the environment, the mask of files and the streams of the process that waits."""
    environment, streams = dict(os.environ), (sys.stdout, sys.stderr)
    request = job.request
    umask = os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    own = [_stream(*pair) for pair in zip(job.descriptors, request["streams"], strict=True)]
    sys.stdout, sys.stderr = own
    try:
        os.chdir(request["cwd"])
        yield
    finally:
        for stream in own:
            # The process that reads it may have closed it.
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(environment)
        os.umask(umask)
        os.chdir("/")


def _stream(descriptor: int, form: Sequence[str]) -> TextIO:
    encoding, errors = form
    return open(descriptor, "w", encoding=encoding, errors=errors, closefd=False)


@contextlib.contextmanager
def _lock(path: Path) -> Generator[None, None, None]:
    """The right to listen on `path`, which the system takes back when this process ends.

    Raises:
        NoDaemonError: another process has it, or the folder is not private.
    """
    import fcntl

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise NoDaemonError(f"{path.parent} cannot be made: {error.strerror}") from error
    if not is_private(path.parent):
        raise NoDaemonError(f"{path.parent} is open to other users; make it private (0700)")
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise NoDaemonError("a daemon of this workspace is running already") from None
        raise NoDaemonError(f"{path.parent}: {error.strerror}") from error
    try:
        yield
    finally:
        os.close(descriptor)


def _source_stamp() -> frozenset[tuple[str, int, int]]:
    """Which files the program consists of, and when they were changed."""
    root = Path(__file__).parents[3]
    found: set[tuple[str, int, int]] = set()
    for package in _PACKAGES:
        for path in (root / package).rglob("*.py"):
            status = path.stat()
            found.add((str(path), status.st_mtime_ns, status.st_size))
    return frozenset(found)


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
