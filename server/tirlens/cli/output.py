"""The destination of results: standard output or a file, with or without colour."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.segment import Segment

from tirlens.cli import outputs
from tirlens.cli.errors import UsageError
from tirlens.cli.option_parser import STANDARD_OUTPUT
from tirlens.file_writer import replacing
from tirlens.ide.escaping import visible

ShowProgress = Callable[[str], None]
# Wide enough for a whole row where no terminal cuts it.
_WIDTH_OF_A_FILE = 160


class _Console(Console):
    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """The text with its styles; names and messages of the user give the terminal no orders."""
        return super()._render_buffer(
            item if item.control else item._replace(text=visible(item.text)) for item in buffer
        )

    def on_broken_pipe(self) -> None:
        """Raise for `stream`: rich would end the program, with the status of a failed kernel."""
        raise BrokenPipeError


@contextmanager
def stream(path: str | None, kind: str = "result") -> Generator[TextIO, None, None]:
    """Standard output (None or ``-``), or the file `path` in UTF-8.

    The file may be an earlier result of `kind`, and no other file that exists.
    Where the reader of standard output has closed it (``| head``), the body of the ``with`` ends
    early and the command continues: its other files and its exit status do not depend on that.

    Raises:
        UsageError: it cannot be written, or is another file of the user.
    """
    try:
        if path is not None and path != STANDARD_OUTPUT:
            # It may have come since the command began.
            outputs.check(Path(path), kind, path)
            with replacing(Path(path)) as file:
                yield file
            outputs.record(Path(path), kind)
        elif sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            # As Python has it where a shell closes it (`>&-`).
            raise UsageError("standard output is closed")
        else:
            reconfigure = getattr(sys.stdout, "reconfigure", None)
            if reconfigure is not None and sys.stdout.errors == "strict":
                # A file name that is no UTF-8, or a terminal with fewer characters.
                reconfigure(errors="backslashreplace")
            yield sys.stdout
            sys.stdout.flush()
    except OSError as error:
        if path is None:
            _discard_standard_output()
            if isinstance(error, BrokenPipeError):
                return
        name = path or "standard output"
        raise UsageError(f"{name} cannot be written: {error.strerror}") from error


def _discard_standard_output() -> None:
    """Discard the rest of the buffer: Python would write it at its exit and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_json(out: TextIO, data: Any) -> None:
    """Write `data` as JSON with ``?`` for each lone surrogate, which UTF-8 cannot encode."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    out.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")


def console(file: TextIO, color: bool | None) -> Console:
    """A console on `file`; colour as `color` says, by default on a terminal without NO_COLOR."""
    is_terminal = file.isatty()
    colored = is_terminal and not os.environ.get("NO_COLOR") if color is None else color
    return _Console(
        file=file,
        width=None if is_terminal else _WIDTH_OF_A_FILE,
        force_terminal=colored or None,
        # Without a colour system, rich writes no escape codes at all: nothing bold or dim.
        color_system=None if not colored else "auto" if is_terminal else "standard",
        # rich would let NO_COLOR take the colour of an explicit option.
        no_color=not colored,
        highlight=False,
        emoji=False,
        markup=False,
    )


@contextmanager
def progress() -> Generator[ShowProgress, None, None]:
    """A line of progress on a terminal, silence elsewhere."""
    on_errors = Console(stderr=True)
    if not on_errors.is_terminal:
        yield lambda message: None
        return
    with on_errors.status("") as line:
        yield lambda message: line.update(message)
