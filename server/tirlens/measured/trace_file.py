"""A trace as its readers see it: the first bytes, and streams that report their progress."""

from __future__ import annotations

import io
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

HEAD_BYTES = 64 << 10


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
        Its first `HEAD_BYTES`.
    progress
        Called with the bytes read so far and the bytes of the file.
    """

    path: Path
    head: bytes
    size_bytes: int
    progress: Callable[[int, int], None] = lambda done, size: None

    @property
    def first_line(self) -> str:
        """The first line that is not empty, without a byte order mark."""
        text = self.head.decode("utf-8", "replace").lstrip("\ufeff")
        return next((line for line in text.splitlines() if line.strip()), "")

    @contextmanager
    def binary(self) -> Generator[BinaryIO]:
        """The bytes as a stream."""
        with self.path.open("rb") as file:
            yield io.BufferedReader(_Counted(file, self), 1 << 20)

    @contextmanager
    def text(self) -> Generator[TextIO]:
        """The text as a stream, with the ends of lines as they are, as `csv` expects them.

        Bytes that are no UTF-8 become the replacement character.
        """
        with (
            self.binary() as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text,
        ):
            yield text


class _Counted(io.RawIOBase):
    """The bytes of a file, with progress."""

    def __init__(self, file: BinaryIO, trace: TraceFile) -> None:
        self._file = file
        self._trace = trace
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._done += len(content)
        self._trace.progress(self._done, self._trace.size_bytes)
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
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise TraceError(f"{path}: is no regular file")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    if not head.strip():
        raise TraceError(f"{path}: is empty")
    return TraceFile(path, head, status.st_size, progress)
