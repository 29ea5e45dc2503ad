"""Where results go: standard output or a file, with or without colour."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from tirlens.cli.errors import UsageError

Say = Callable[[str], None]
# Wide enough for a whole row where no terminal cuts it.
_WIDTH_OF_A_FILE = 160


@contextmanager
def stream(path: str | None) -> Generator[TextIO, None, None]:
    """Standard output, or the file `path` in UTF-8."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def console(file: TextIO, color: bool | None) -> Console:
    """A console on `file`; colour as asked, else where there is a terminal."""
    is_terminal = file.isatty()
    colored = is_terminal if color is None else color
    return Console(
        file=file,
        width=None if is_terminal else _WIDTH_OF_A_FILE,
        force_terminal=colored or None,
        no_color=not colored,
        color_system="standard" if colored and not is_terminal else "auto",
        highlight=False,
        emoji=False,
        markup=False,
    )


@contextmanager
def progress() -> Generator[Say, None, None]:
    """A line of progress on a terminal, silence elsewhere."""
    on_errors = Console(stderr=True)
    if not on_errors.is_terminal:
        yield lambda message: None
        return
    with on_errors.status("") as line:
        yield lambda message: line.update(message)
