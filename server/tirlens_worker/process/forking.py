"""A worker whose analyses each run in a child of its own: user code never touches it."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any, BinaryIO, Dict, Optional, Sequence

from .. import codec
from ..program import patches
from ..protocol import Analyze, Problem, Result
from . import child, descriptors, processes, warm_up
from .fork_server import ForkServer
from .serving import Worker
from .shared_line import SharedLine
from .supervise import Run

# Each has what its file imports in memory.
_MOST_SERVERS = 3


class ForkingWorker(Worker):
    """Keeps the framework imported and forks."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, mark: SharedLine) -> None:
        super().__init__(reader, writer, mark)
        descriptors.private.update((reader.fileno(), writer.fileno()))
        patches.install({})
        warm_up.warm_up()
        child.prepare()
        signal.signal(signal.SIGTERM, self._terminate)
        self._pending: Optional[Any] = None
        self._closed = False
        self._spare: Optional[child.Child] = None
        self._servers: Dict[str, ForkServer] = {}
        self._renew_spare()

    def serve(self) -> None:
        """Answer requests, each by a child that was forked ahead of it."""
        try:
            super().serve()
        finally:
            self._end_servers()
            if self._spare is not None:
                self._spare.end()

    def _next(self) -> Optional[Any]:
        pending, self._pending = self._pending, None
        if pending is not None or self._closed:
            return pending
        return super()._next()

    def _answer(self, request: Analyze) -> None:
        if self._import_ahead(request):
            # A process that is older lacks these imports.
            self._end_servers()
            child.prepare()
            self._renew_spare()
        ready = self._after_imports(request) or self._take_spare()
        interrupted = partial(self._is_interrupted, request)
        run = Run(request, ready, self._reader.fileno(), interrupted, self._send)
        try:
            payload = run.result()
            if payload is None:
                problem = Problem("cancelled", "the analysis was given up")
                payload = codec.dumps(Result(request.id, problems=(problem,)))
            if not self._closed:
                self._send(payload)
        finally:
            run.close()
        self._keep_servers(request.path, run.servers)
        if run.has_failed and request.path in self._servers:
            # What its imports have left may be the reason.
            self._servers.pop(request.path).end()
        if not self._closed and self._spare is None:
            self._renew_spare()

    def _after_imports(self, request: Analyze) -> Optional[child.Child]:
        """A child that has executed the imports of `request`, if a fork server has."""
        server = self._servers.get(request.path)
        if server is None:
            return None
        try:
            return child.Child(self._mark, server, request)
        except child.ServerGoneError:
            self._servers.pop(request.path).end()
            return None

    def _take_spare(self) -> child.Child:
        if self._spare is None or not self._spare.is_alive:
            self._renew_spare()
        spare, self._spare = self._spare, None
        assert spare is not None
        processes.kept.discard(spare.pid)
        return spare

    def _keep_servers(self, path: str, servers: Sequence[ForkServer]) -> None:
        """Keep the newest of `servers` for the file at `path`, and those last used of others."""
        for server in servers:
            if path in self._servers:
                self._servers.pop(path).end()
            self._servers[path] = server
        if path in self._servers:
            self._servers[path] = self._servers.pop(path)
        for other, server in list(self._servers.items()):
            if len(self._servers) > _MOST_SERVERS or not server.is_alive:
                self._servers.pop(other).end()

    def _end_servers(self) -> None:
        while self._servers:
            self._servers.popitem()[1].end()

    def _renew_spare(self) -> None:
        """Fork the child of the next analysis ahead, from this process as it is now."""
        if self._spare is not None:
            processes.kept.discard(self._spare.pid)
            self._spare.end()
        self._spare = child.Child(self._mark)
        processes.kept.add(self._spare.pid)

    def _terminate(self, number: int, frame: Any) -> None:
        """The server is gone: take along what the analysis has started."""
        processes.end_descendants()
        os._exit(128 + number)

    def _is_interrupted(self, request: Analyze) -> bool:
        """Whether what has come ends `request`: its cancel, a newer request, the end."""
        message = super()._next()
        if message is not None and message.get("$") == "Cancel":
            # One that was sent when an earlier request was about to end comes too late.
            return bool(message["id"] == request.id)
        self._pending, self._closed = message, message is None
        return True
