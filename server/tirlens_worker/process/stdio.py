"""The worker's pipes: the protocol keeps its own, everything else that is printed goes elsewhere.

User code and the frameworks print to file descriptors 1 and 2, from Python and from C++.  The
protocol therefore moves to duplicates of 0 and 1 before anything else is imported; descriptor 0
then reads nothing and descriptor 1 is the same as 2.
"""

from __future__ import annotations

import os
from typing import BinaryIO, List, Optional, Tuple

from . import descriptors

# A header is two short lines; more without a blank line is not our peer.
_HEADER_LIMIT = 4096
MESSAGE_LIMIT = 1 << 30


class ProtocolError(Exception):
    """What came through the pipe is not a message."""


def claim() -> Tuple[BinaryIO, BinaryIO]:
    """Take descriptors 0 and 1 for the protocol: (reader, writer), both unbuffered."""
    source = descriptors.move_up(os.dup(0))
    sink = descriptors.move_up(os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if os.name == "nt":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    return os.fdopen(source, "rb", 0), os.fdopen(sink, "wb", 0)


def read_message(stream: BinaryIO) -> Optional[bytes]:
    """The next message's payload, or None at the end of the stream.

    Raises:
        ProtocolError: the header is not one, or the stream ends within a message.
    """
    length = None
    seen = 0
    while True:
        line = _read_line(stream, _HEADER_LIMIT - seen)
        if not line and not seen:
            return None
        seen += len(line)
        if not line.endswith(b"\n"):
            raise ProtocolError("the stream ends, or is too long, within a header")
        line = line.strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise ProtocolError("Content-Length is not a number")
            length = int(value)
    if length is None or length > MESSAGE_LIMIT:
        raise ProtocolError("no usable Content-Length in the header")
    return read_exactly(stream, length)


def write_message(stream: BinaryIO, payload: bytes) -> None:
    """Write `payload` behind its header, however many writes the pipe takes."""
    write_all(stream.fileno(), b"Content-Length: %d\r\n\r\n" % len(payload) + payload)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, however many writes the pipe takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_exactly(stream: BinaryIO, length: int) -> bytes:
    """Read `length` bytes.

    Raises:
        ProtocolError: the stream ends before.
    """
    parts: List[bytes] = []
    while length:
        part = stream.read(min(length, 1 << 20))
        if not part:
            raise ProtocolError("the stream ends within a message")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _read_line(stream: BinaryIO, limit: int) -> bytes:
    # The stream is unbuffered so that waiting for it with select() is right; headers are short.
    line = bytearray()
    while len(line) < limit:
        byte = stream.read(1)
        if not byte:
            break
        line += byte
        if byte == b"\n":
            break
    return bytes(line)


class Tail:
    """The first and the last bytes of a stream that may be endless."""

    def __init__(self, limit: int = 64 * 1024) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def write(self, data: bytes) -> None:
        """Take more bytes, of which the middle is dropped once there are more than the limit."""
        room = self._half - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        self._tail += rest[-self._half :]
        excess = max(0, len(self._tail) - self._half)
        del self._tail[:excess]
        self._dropped += max(0, len(rest) - self._half) + excess

    def text(self) -> str:
        """What was kept, with the number of bytes that are left out between."""
        middle = b"\n... %d bytes left out ...\n" % self._dropped if self._dropped else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode("utf-8", "replace")
