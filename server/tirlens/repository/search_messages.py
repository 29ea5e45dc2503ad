"""The messages between a process that searches for calls and the one that asks it.

Each is a JSON object with its length in front.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO

from tirlens.evaluation.search_result import Search, Target

_HEADER = struct.Struct(">I")
_MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class SearchRequest:
    """The functions of one file whose calls are searched for.

    Attributes
    ----------
    root
        The folder of the repository.
    store
        The file that stores the index of its words.
    changed
        Files of the repository; the answer says whether the calls depend on them.
    """

    root: str
    store: str
    targets: tuple[Target, ...]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchProgress:
    """The search goes on; `files_read` have been read for the index."""

    files_read: int = 0


@dataclass(frozen=True)
class Found:
    """The calls of one function."""

    target: Target
    search: Search


@dataclass(frozen=True)
class SearchAnswer:
    """The calls of all functions of a request, or the `problem` for which there are none.

    `is_concerned` is whether a change of the files that the request names may change them.
    """

    found: tuple[Found, ...] = ()
    problem: str = ""
    is_concerned: bool = False


def write(stream: BinaryIO, payload: bytes) -> None:
    """Write one message.

    Raises:
        OSError: the other process has ended.
    """
    stream.write(_HEADER.pack(len(payload)) + payload)
    stream.flush()


def read(stream: BinaryIO) -> bytes | None:
    """The next message; None at the end, or for what is no message."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    payload = stream.read(length) if length <= _MAX_BYTES else b""
    return payload if payload and len(payload) == length else None
