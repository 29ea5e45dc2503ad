"""The channel from the child of an analysis to its worker.

Each child has a pipe of its own, through which it sends pieces: a tag, a length, and a payload.
Analysed code can write into it, and thereby spoils its own analysis only: the worker takes nothing
from the pipe that is too long or out of order, and no other process reads it.
"""

from __future__ import annotations

import os
import struct
from typing import Iterator, Tuple

from . import descriptors
from .stdio import write_all

MOST_PIECE_BYTES = 8 << 20
MOST_BYTES = 16 << 20
"""What the pieces of one analysis may have in all."""

# In front of a payload: its tag and its length.
_HEADER = struct.Struct("<cI")


class ChannelClosedError(BaseException):
    """Analysed code has closed the channel; no handler of its errors is to catch this."""


class MalformedError(Exception):
    """What came through the channel is not a piece of the analysis."""


class Sender:
    """The child's end of a channel."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptors.move_up(descriptor)
        self._identity = descriptors.identity(self._descriptor)
        self._process = os.getpid()

    def close(self) -> None:
        """Close the channel, unless analysed code has."""
        if descriptors.is_open(self._descriptor, self._identity):
            os.close(self._descriptor)

    @property
    def is_inherited(self) -> bool:
        """Whether this is a process that analysed code has forked, which must not send."""
        return os.getpid() != self._process

    def check(self) -> None:
        """Check that the channel is open.

        Raises:
            ChannelClosedError: analysed code has closed it, and may have opened another file.
        """
        if not descriptors.is_open(self._descriptor, self._identity):
            raise ChannelClosedError

    def send(self, tag: bytes, payload: bytes) -> None:
        """Send a piece.

        Raises:
            ChannelClosedError: analysed code has closed the channel.
            ValueError: the payload is too long.
        """
        if len(payload) > MOST_PIECE_BYTES:
            size = "{:.0f} MiB".format(len(payload) / (1 << 20))
            raise ValueError("the result has {} and is too long".format(size))
        self.check()
        write_all(self._descriptor, _HEADER.pack(tag, len(payload)) + payload)


class Receiver:
    """The worker's end of a channel: what has come of a piece that is not complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def receive(self, data: bytes) -> Iterator[Tuple[bytes, bytes]]:
        """The tags and payloads of the pieces that `data` completes.

        Raises:
            MalformedError: a piece is too long.
        """
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _HEADER.size:
            tag, length = _HEADER.unpack_from(self._buffer, start)
            if length > MOST_PIECE_BYTES:
                raise MalformedError
            end = start + _HEADER.size + length
            if len(self._buffer) < end:
                break
            yield tag, bytes(self._buffer[start + _HEADER.size : end])
            start = end
        del self._buffer[:start]
