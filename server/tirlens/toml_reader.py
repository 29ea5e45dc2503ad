"""Reading TOML files that users name: regular files of limited size, within a deadline."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tirlens import file_reader
from tirlens.file_reader import FileRefusedError

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
    except FileNotFoundError:
        raise
    except FileRefusedError as error:
        raise TomlError(f"{path}: {error.strerror}") from error
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
    # The deadline is that of all the files that one reader opens: see `read_in_time`.
    return file_reader.read_bytes(path, MAX_BYTES, limit_s=None)


def read_in_time(read: Callable[[], _Value], path: str) -> _Value:
    """What `read` returns, if it does within `DEADLINE_S`; see `file_reader.within`.

    Raises
    ------
    TomlError
        `read` has not returned in time.
    """
    try:
        return file_reader.within(DEADLINE_S, read, path)
    except FileRefusedError as error:
        raise TomlError(f"{path}: {error.strerror}") from error
