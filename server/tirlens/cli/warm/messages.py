"""Messages between a command and its daemon: JSON with a length, and descriptors."""

from __future__ import annotations

import array
import json
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

_HEADER = struct.Struct(">I")
_MAX_BYTES = 8 << 20
_MAX_DESCRIPTORS = 2
INTERRUPT = b"i"
"""What a command sends when its user interrupts it."""


def send(
    connection: socket.socket, message: Mapping[str, Any], descriptors: Sequence[int] = ()
) -> None:
    """Send a message; `descriptors` are open files for the other process."""
    body = json.dumps(message).encode("utf-8")
    header = _HEADER.pack(len(body))
    if descriptors:
        packed = array.array("i", descriptors)
        connection.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)])
        connection.sendall(body)
    else:
        connection.sendall(header + body)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next message and its descriptors; None at the end, or for anything else.

    The descriptors are not inherited by other programs.
    """
    space = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)
    header, ancillary, _, _ = connection.recvmsg(_HEADER.size, space)
    found = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    descriptors = list(found)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    if length > _MAX_BYTES:
        return None
    body = b""
    while len(body) < length:
        piece = connection.recv(length - len(body))
        if not piece:
            return None
        body += piece
    message: Any = json.loads(body)
    return (message, descriptors) if isinstance(message, dict) else None  # pyright: ignore[reportUnknownVariableType]
