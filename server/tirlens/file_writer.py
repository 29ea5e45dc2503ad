"""Writing files whole or not at all: beside the old one, which the new one then replaces.

On a full disk, or where the program ends in between, the old file stays as it was.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Generator[TextIO, None, None]:
    """A file for UTF-8 text that takes the place of `path` at the end of the ``with`` statement.

    Its permissions are `mode`, or those of the file before, or of a new one. A link stays, and what
    it names is replaced. What is no regular file, such as a pipe or ``/dev/stdout``, is written to.

    Raises
    ------
    OSError
        It cannot be written; a file at `path` is as before.
    """
    if is_stream(path):
        with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            yield file
        return
    place = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:64]}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            yield file
            file.flush()
            # Some file systems say only here that they are full.
            os.fsync(descriptor)
        Path(name).chmod(_mode(place) if mode is None else mode)
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def replace_text(path: Path, text: str, mode: int | None = None) -> None:
    """Write `text` to the file `path`; see `replacing`."""
    with replacing(path, mode) as file:
        file.write(text)


def is_stream(path: Path) -> bool:
    """Whether `path` is there, and is not a file that another one could replace."""
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
    # A standard stream may be a file, which the shell has opened.
    return not is_file or path.absolute().parts[1:2] in (("dev",), ("proc",))


def _mode(place: Path) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    try:
        return stat.S_IMODE(place.stat().st_mode)
    except OSError:
        umask = os.umask(0o077)
        os.umask(umask)
        return 0o666 & ~umask
