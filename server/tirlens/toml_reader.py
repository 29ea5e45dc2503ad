"""Reading TOML files that users name: regular files of limited size, within a deadline."""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 1 << 20
DEADLINE_S = 3.0
# The time to read a key grows with the square of its parts.
_DEEP_KEY = re.compile(
    r"""^[ \t]*\[{0,2}(?:[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.){64}""", re.MULTILINE
)

_Value = TypeVar("_Value")
_blocked: dict[str, threading.Thread] = {}


class TomlError(ValueError):
    """A file that cannot be used. The text says why."""


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a file as text and as a table.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    TomlError
        The file cannot be read, is no regular file, is larger than `MAX_BYTES`, or is no TOML. The
        text begins with the path.
    """
    try:
        text = _read(path).decode("utf-8").replace("\r\n", "\n")
    except (FileNotFoundError, TomlError):
        raise
    except UnicodeDecodeError as error:
        raise TomlError(f"{path}: is not UTF-8: {error.reason}") from error
    except OSError as error:
        raise TomlError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        # A null character in the path, or a surrogate that the file system cannot encode.
        raise TomlError(f"{path!s:.200}: cannot be read: {error}") from error
    if _DEEP_KEY.search(text):
        raise TomlError(f"{path}: tables are nested too deeply")
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{path}: not a TOML file: {error}") from error
    except RecursionError as error:
        raise TomlError(f"{path}: values are nested too deeply") from error
    except ValueError as error:
        # Python limits the digits of a number.
        raise TomlError(f"{path}: a value is out of range: {error}") from error


def _read(path: Path) -> bytes:
    # Before it is opened: to open a device can have effects.
    _check_regular(path, path.stat())
    with open(path, "rb", opener=_open_without_waiting) as file:
        _check_regular(path, os.fstat(file.fileno()))
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise TomlError(f"{path}: is larger than {MAX_BYTES >> 20} MiB")
    return content


def _check_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise TomlError(f"{path}: is no regular file")


def _open_without_waiting(name: str, flags: int) -> int:
    # The file may have become a named pipe since, which is waited for.
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def read_in_time(read: Callable[[], _Value], path: str) -> _Value:
    """What `read` returns, if it does within `DEADLINE_S`.

    A network file system may not answer for minutes. The thread that waits for it cannot be ended:
    while it waits, the same `path` is not read again.

    Raises
    ------
    TomlError
        `read` has not returned in time.
    """
    late = TomlError(f"{path}: was not read within {DEADLINE_S:g} s")
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

    thread = threading.Thread(target=run, name="toml", daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if thread.is_alive():
        _blocked[path] = thread
        raise late
    _blocked.pop(path, None)
    if raised:
        raise raised[0]
    return returned[0]
