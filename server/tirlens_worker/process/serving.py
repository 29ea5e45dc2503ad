"""What every worker does: take requests from the pipe, one at a time, and send their results."""

from __future__ import annotations

import abc
import json
from typing import Any, BinaryIO, Optional

from .. import codec
from ..protocol import Analyze, Progress
from . import preload, stdio
from .shared_line import SharedLine


class Worker(abc.ABC):
    """Answers requests until the pipe is closed."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, mark: SharedLine) -> None:
        self._reader = reader
        self._writer = writer
        self._mark = mark

    def serve(self) -> None:
        """Answer one request after another; returns when the pipe is closed."""
        while True:
            message = self._next()
            if message is None:
                return
            if message.get("$") == "Analyze":
                self._answer(codec.from_json(Analyze, message))

    def _next(self) -> Optional[Any]:
        payload = stdio.read_message(self._reader)
        return None if payload is None else json.loads(payload.decode("utf-8", "surrogatepass"))

    def _send(self, payload: bytes) -> None:
        stdio.write_message(self._writer, payload)

    def _import_ahead(self, request: Analyze) -> bool:
        """Import what the text will import of the frameworks; whether there was anything."""
        names = preload.missing(request.text)
        if names:
            # A total of 0 tells the server that the time limit does not run yet.
            self._send(codec.dumps(Progress(request.id, "importing " + ", ".join(names))))
            preload.preload(names)
            self._send(codec.dumps(Progress(request.id, "running", total=1)))
        return bool(names)

    @abc.abstractmethod
    def _answer(self, request: Analyze) -> None:
        """Analyse `request` and send its result."""
