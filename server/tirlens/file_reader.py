"""Reading files that others have made: regular files, of limited size, within a deadline.

A named pipe has no end that comes, a device none at all, and a file system of a network may not
answer for minutes. All that the server, the command line and the search read of files goes through
this module.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

MAX_BYTES = 16 << 20
DEADLINE_S = 3.0
_PIECE_BYTES = 1 << 20

_Value = TypeVar("_Value")
_blocked: dict[str, threading.Thread] = {}


class FileRefusedError(OSError):
    """A file that is not read; `strerror` says why."""


def read_bytes(
    path: Path, most_bytes: int = MAX_BYTES, limit_s: float | None = DEADLINE_S
) -> bytes:
    """The content of a file.

    Parameters
    ----------
    path
        The file.
    most_bytes
        A larger file is refused.
    limit_s
        The time that the file system may take; None where another process watches this one.

    Raises
    ------
    FileRefusedError
        It is no regular file, too large, or was not read in time.
    OSError
        It cannot be read.
    """

    def read() -> bytes:
        with open_regular(path) as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise FileRefusedError(errno.EFBIG, f"is larger than {_size(most_bytes)}", str(path))
        return content

    return read() if limit_s is None else within(limit_s, read, str(path))


def read_text(
    path: Path,
    most_bytes: int = MAX_BYTES,
    *,
    errors: str = "strict",
    limit_s: float | None = DEADLINE_S,
) -> str:
    """The text of a UTF-8 file, with ``\\n`` at the ends of its lines; `read_bytes` says the rest.

    Raises
    ------
    UnicodeDecodeError
        It is no UTF-8.
    """
    text = read_bytes(path, most_bytes, limit_s).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def digest_of(path: Path, most_bytes: int, limit_s: float = DEADLINE_S) -> str:
    """The SHA-256 digest of a file, read in pieces; raises as `read_bytes` does."""

    def read() -> str:
        digest, left_bytes = hashlib.sha256(), most_bytes
        with open_regular(path) as file:
            while piece := file.read(_PIECE_BYTES):
                left_bytes -= len(piece)
                if left_bytes < 0:
                    message = f"is larger than {_size(most_bytes)}"
                    raise FileRefusedError(errno.EFBIG, message, str(path))
                digest.update(piece)
        return digest.hexdigest()

    return within(limit_s, read, str(path))


def within(limit_s: float, read: Callable[[], _Value], path: str) -> _Value:
    """What `read` returns, if it does within `limit_s`.

    The thread that waits for the file system cannot be ended: while it waits, the same `path` is
    not read again.

    Raises
    ------
    FileRefusedError
        `read` has not returned in time.
    """
    late = FileRefusedError(errno.ETIMEDOUT, f"was not read within {limit_s:g} s", path)
    blocked = _blocked.get(path)
    if blocked is not None and blocked.is_alive():
        raise late
    returned: list[_Value] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(read())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="read", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        _blocked[path] = thread
        raise late
    _blocked.pop(path, None)
    if raised:
        raise raised[0]
    return returned[0]


@contextmanager
def open_regular(path: Path) -> Generator[BinaryIO, None, None]:
    """A file of any size as a stream, for a command that its user can end.

    Raises
    ------
    FileRefusedError
        It is no regular file.
    OSError
        It cannot be read.
    """
    # Before it is opened: to open a device can have effects.
    _check_regular(path, path.stat())
    with open(path, "rb", opener=_open_without_waiting) as file:
        _check_regular(path, os.fstat(file.fileno()))
        yield file


def _check_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FileRefusedError(errno.EINVAL, "is no regular file", str(path))


def _open_without_waiting(name: str, flags: int) -> int:
    # The file may have become a named pipe since, which is waited for.
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _size(number_bytes: int) -> str:
    return f"{number_bytes >> 20} MiB" if number_bytes >= 1 << 20 else f"{number_bytes} bytes"
