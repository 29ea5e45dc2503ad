"""A trace as its readers see it: the first bytes, and streams that report their progress.

A file that gzip has compressed is read as what it contains.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from tirlens.file_reader import open_regular

HEAD_BYTES = 64 << 10

_GZIP_MAGIC = b"\x1f\x8b"
# DEFLATE reaches 1032; traces that repeat themselves, 40.
_MOST_EXPANSION = 300
_EXPANSION_FREE_BYTES = 64 << 20


class TraceError(Exception):
    """A file that is no trace, or ends where it should not; the text names the place."""


@dataclass(frozen=True)
class TraceFile:
    """A file of measured operations.

    Attributes
    ----------
    path
        The file, which may have gigabytes: it is read as a stream.
    head
        Its first `HEAD_BYTES`, expanded.
    is_compressed
        Whether gzip has compressed it.
    progress
        Called with the bytes read so far and the bytes of the file.
    """

    path: Path
    head: bytes
    size_bytes: int
    is_compressed: bool = False
    progress: Callable[[int, int], None] = lambda done, size: None

    @property
    def encoding(self) -> str:
        """UTF-16 with a byte order mark, as PowerShell writes what is redirected, or UTF-8."""
        is_utf16 = self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return "utf-16" if is_utf16 else "utf-8-sig"

    @property
    def head_text(self) -> str:
        """The first bytes as text, without a byte order mark."""
        return self.head.decode(self.encoding, "replace")

    @property
    def first_line(self) -> str:
        """The first line that is not empty."""
        text = self.head_text
        return next((line for line in text.splitlines() if line.strip()), "")

    @contextmanager
    def binary(self) -> Generator[io.BufferedReader]:
        """The bytes as a stream.

        Reading raises `TraceError` where a compressed file is cut off, damaged, or expands to more
        than a trace can.
        """
        with open_regular(self.path) as file:
            counted = _Counted(file, self)
            raw = _Expanded(counted) if self.is_compressed else counted
            yield io.BufferedReader(raw, 1 << 20)

    @contextmanager
    def text(self) -> Generator[TextIO]:
        """The text as a stream, with the ends of lines as they are, as `csv` expects them.

        Bytes that are no text become the replacement character.
        """
        with (
            self.binary() as file,
            io.TextIOWrapper(file, encoding=self.encoding, errors="replace", newline="") as text,
        ):
            yield text


class _Counted(io.RawIOBase):
    """The bytes of a file, with progress."""

    def __init__(self, file: BinaryIO, trace: TraceFile) -> None:
        self._file = file
        self._trace = trace
        self.done_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self.done_bytes += len(content)
        self._trace.progress(self.done_bytes, self._trace.size_bytes)
        return len(content)


class _Expanded(io.RawIOBase):
    """What a compressed file contains."""

    def __init__(self, file: _Counted) -> None:
        self._compressed = file
        self._expanded = gzip.GzipFile(fileobj=io.BufferedReader(file, 1 << 16))
        self._done_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            content = self._expanded.read1(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            raise TraceError(f"is cut off or damaged: {error}") from error
        buffer[: len(content)] = content
        self._done_bytes += len(content)
        excess = self._done_bytes - _EXPANSION_FREE_BYTES
        if excess > _MOST_EXPANSION * self._compressed.done_bytes:
            raise TraceError(f"expands more than {_MOST_EXPANSION}-fold, as no trace does")
        return len(content)


def open_trace(
    path: Path, progress: Callable[[int, int], None] = lambda done, size: None
) -> TraceFile:
    """The file at `path`.

    Raises
    ------
    TraceError
        It is no regular file, is empty, or cannot be read.
    """
    try:
        with open_regular(path) as file:
            head, size_bytes = file.read(HEAD_BYTES), os.fstat(file.fileno()).st_size
        is_compressed = head.startswith(_GZIP_MAGIC)
        if is_compressed:
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD_BYTES)
    except zlib.error as error:
        raise TraceError(f"{path}: is cut off or damaged: {error}") from error
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    if not head.strip():
        raise TraceError(f"{path}: is empty")
    return TraceFile(path, head, size_bytes, is_compressed, progress)
