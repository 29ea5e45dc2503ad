"""Processes that have executed the leading imports of a text, and fork an analysis of it.

The process of an analysis is copied after its imports. The copy, a fork server, waits. Another
version of the text with the same imports is analysed by a process that the server forks, which
goes on after the imports. (AFL does the same to programs that it tests: M. Zalewski, "Fuzzing
random programs without execve()", 2014.)

Processes are forked twice, so that their parent is the worker, to which the system gives the
orphans of its descendants. A server belongs to one file: it has executed code of the user, and can
spoil the analyses of this file only.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import struct
import time
from typing import Callable, NamedTuple, Optional, Tuple

from ..isolation import limits
from ..program.document import Document
from ..program.import_state import ImportState
from ..protocol import Analyze
from . import descriptors, processes

_LENGTH = struct.Struct("<Q")
# The id of a process; 0 for none.
_PID = struct.Struct("<q")
_DESCRIPTOR = struct.Struct("i")
# A server that does not answer in this time is not worth to be waited for.
_ANSWER_LIMIT_S = 5.0
_ADOPTION_LIMIT_S = 5.0
_POLL_S = 0.0005
# Analysed code may replace it.
_leave = os._exit


class Ends(NamedTuple):
    """The descriptors of an analysis's process: its pipes, and its socket as a fork server."""

    pieces: int
    output: int
    trace: int
    orders: int
    control: int


class ForkServer:
    """The worker's side of a fork server."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self._pid = pid
        self._control = control
        control.settimeout(_ANSWER_LIMIT_S)
        processes.kept.add(pid)

    @classmethod
    def find(cls, control: socket.socket) -> Optional[ForkServer]:
        """The server that the process of an analysis has left at the other end of `control`."""
        control.setblocking(False)
        pid = _receive_pid(control)
        return cls(pid, control) if _is_new_child(pid) else None

    def fork(self, request: Analyze, ends: Ends) -> Optional[int]:
        """The process id of a child of the worker that goes on with `request` after its imports.

        None if the imports are not those of `request`, or the server is gone.
        """
        payload = pickle.dumps(request)
        passed = b"".join(_DESCRIPTOR.pack(descriptor) for descriptor in ends)
        try:
            self._control.sendmsg(
                [_LENGTH.pack(len(payload))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)]
            )
            self._control.sendall(payload)
        except OSError:
            return None
        pid = _receive_pid(self._control)
        return pid if _is_new_child(pid) else None

    @property
    def is_alive(self) -> bool:
        """Whether the server runs."""
        return processes.is_child(self._pid) and not processes.is_ending(self._pid)

    def end(self) -> None:
        """Kill the server and reap it."""
        descriptors.private.discard(self._control.fileno())
        self._control.close()
        processes.kept.discard(self._pid)
        # The id of one that has been reaped may be that of another process.
        if processes.is_child(self._pid):
            processes.kill_group(self._pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _is_new_child(pid: int) -> bool:
    """Whether `pid`, which analysed code may have sent, is a child that is not known yet."""
    is_known = pid in processes.groups or pid in processes.kept
    return pid > 0 and not is_known and processes.is_child(pid)


def leave_server(control: int, worker: int) -> bool:
    """Fork a server, in the process of an analysis; whether this process is the server."""
    with socket.socket(fileno=os.dup(control)) as sender:
        return _fork_child_of(worker, lambda pid: sender.send(_PID.pack(pid)))


def serve(control: int, worker: int, state: ImportState) -> Tuple[Ends, Analyze, Document]:
    """Fork processes as the worker demands; returns in each of these, and never in the server.

    The result has the demanded request and its document.
    """
    limits.set_name("tirlens-imports")
    # What is not collected any more stays shared with the processes that are forked.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=control) as stream:
        while True:
            demand = _receive_demand(stream)
            if demand is None:
                _leave(0)
            request, ends = demand
            document = state.document_of(request)
            if document is None:
                # Later requests will not be of these imports either.
                stream.send(_PID.pack(0))
                _leave(0)
            if _fork_child_of(worker):
                stream.send(_PID.pack(os.getpid()))
                return ends, request, document
            for descriptor in ends:
                os.close(descriptor)


def _fork_child_of(worker: int, tell_pid: Callable[[int], object] = lambda pid: None) -> bool:
    """Fork a child of `worker`; whether this process is the child.

    `tell_pid` is called with its id before this returns in the parent.
    """
    helper = os.fork()
    if helper:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(helper, 0)
        return False
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
            tell_pid(pid)
        _leave(0)
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    deadline = time.monotonic() + _ADOPTION_LIMIT_S
    while os.getppid() != worker:
        if time.monotonic() > deadline:
            _leave(1)
        time.sleep(_POLL_S)
    limits.die_with_parent(worker, signal.SIGKILL)
    return True


def _receive_demand(stream: socket.socket) -> Optional[Tuple[Analyze, Ends]]:
    """The next request, and the ends for its process; None if there is no worker any more."""
    size = socket.CMSG_LEN(len(Ends._fields) * _DESCRIPTOR.size)
    try:
        header, passed, _, _ = stream.recvmsg(_LENGTH.size, size)
        (length,) = _LENGTH.unpack(header)
        payload = bytearray()
        while len(payload) < length:
            part = stream.recv(min(length - len(payload), 1 << 20))
            if not part:
                return None
            payload += part
    except (OSError, struct.error):
        return None
    found = [number for _, _, data in passed for (number,) in _DESCRIPTOR.iter_unpack(data)]
    if len(found) != len(Ends._fields):
        return None
    request: Analyze = pickle.loads(payload)
    return request, Ends(*found)


def _receive_pid(stream: socket.socket) -> int:
    """The id that the other side has sent; 0 if there is none."""
    try:
        (pid,) = _PID.unpack(stream.recv(_PID.size))
    except (OSError, struct.error):
        return 0
    return int(pid)
