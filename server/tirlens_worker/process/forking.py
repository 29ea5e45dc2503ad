"""A worker whose analyses each run in a child of its own: user code never touches it."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any, BinaryIO, Optional

from .. import codec
from ..program import patches
from ..protocol import Analyze, Problem, Result
from . import child, processes, warm_up
from .serving import Worker
from .shared_line import SharedLine
from .supervise import Run


class ForkingWorker(Worker):
    """Keeps the framework imported and forks."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, mark: SharedLine) -> None:
        super().__init__(reader, writer, mark)
        child.private_descriptors.update((reader.fileno(), writer.fileno()))
        patches.install({})
        warm_up.warm_up()
        child.prepare()
        signal.signal(signal.SIGTERM, self._terminate)
        self._pending: Optional[Any] = None
        self._closed = False
        self._spare: Optional[child.Child] = None
        self._renew_spare()

    def serve(self) -> None:
        """Answer requests, each by a child that was forked ahead of it."""
        try:
            super().serve()
        finally:
            if self._spare is not None:
                self._spare.end()

    def _next(self) -> Optional[Any]:
        pending, self._pending = self._pending, None
        if pending is not None or self._closed:
            return pending
        return super()._next()

    def _answer(self, request: Analyze) -> None:
        if self._import_ahead(request):
            child.prepare()
            self._renew_spare()
        elif self._spare is None or not self._spare.is_alive:
            self._renew_spare()
        ready, self._spare = self._spare, None
        assert ready is not None
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
        if not self._closed:
            self._renew_spare()

    def _renew_spare(self) -> None:
        """Fork the child of the next analysis ahead, from this process as it is now."""
        if self._spare is not None:
            self._spare.end()
        self._spare = child.Child(self._mark)

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
