"""Messages over a pair of streams: framing, a reader and a writer thread, the end of input.

The event loop never touches a stream, so neither a slow client nor a stuck handler makes the
server deaf.
"""

from __future__ import annotations

import asyncio
import queue
import re
import threading
from collections.abc import AsyncIterator
from typing import BinaryIO

_CONTENT_LENGTH = re.compile(rb"\s*content-length\s*:\s*(\d+)\s*", re.IGNORECASE)
_LONGEST_MESSAGE_BYTES = 256 * 1024 * 1024
_DRAIN_LIMIT_S = 0.5


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message's body, or None at the end of input.

    Lines that are no header are passed over, so that a stray byte does not end the session.
    """
    length: int | None = None
    while True:
        line = stream.readline(64 * 1024)
        if not line:
            return None
        found = _CONTENT_LENGTH.fullmatch(line)
        if found:
            length = int(found.group(1))
        elif not line.strip() and length is not None:
            if length > _LONGEST_MESSAGE_BYTES:
                return None
            body = stream.read(length)
            return body if len(body) == length else None


class Transport:
    """The client's end of the line."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._received: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ended = False
        self._to_send: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="writer", daemon=True)
        self._writer.start()

    def write(self, data: bytes) -> None:
        """Queue `data` for sending (the form in which pygls writes)."""
        self._to_send.put(data)

    def close(self) -> None:
        """Send what is queued, within half a second."""
        self._to_send.put(None)
        self._writer.join(_DRAIN_LIMIT_S)

    def end(self) -> None:
        """End `messages` now, as the end of input does. Any thread and a signal may call it."""
        self._is_ended = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._received.put_nowait, None)

    async def messages(self) -> AsyncIterator[bytes]:
        """The bodies of the client's messages until its input ends."""
        loop = self._loop = asyncio.get_running_loop()
        received = self._received

        def read_all() -> None:
            body: bytes | None = b""
            while body is not None:
                try:
                    body = read_message(self._incoming)
                except (OSError, ValueError):
                    body = None
                loop.call_soon_threadsafe(received.put_nowait, body)

        threading.Thread(target=read_all, name="reader", daemon=True).start()
        while not self._is_ended and (body := await received.get()) is not None:
            yield body

    def _write_all(self) -> None:
        while (data := self._to_send.get()) is not None:
            try:
                self._outgoing.write(data)
                self._outgoing.flush()
            except (OSError, ValueError):
                # The client is gone; the end of its input ends the server.
                return
