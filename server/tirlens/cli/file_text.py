"""The Python text of a file that a command names: its own, or that of a notebook's cells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tirlens.file_reader import read_bytes
from tirlens.ide.notebook_file import SUFFIX, NotebookError, NotebookFile, read_notebook
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Problem


@dataclass(frozen=True)
class FileText:
    """The text that is analysed.  `problem` is why there is none, `notebook` the cells of it."""

    text: str = ""
    notebook: NotebookFile | None = None
    problem: Problem | None = None


def read_file(path: Path) -> FileText:
    """The text of the file `path`."""
    try:
        content = read_bytes(path).decode("utf-8")
        if path.suffix != SUFFIX:
            return FileText(content)
        notebook = read_notebook(content)
    except OSError as error:
        return FileText(problem=Problem("import", f"cannot be read: {error.strerror}"))
    except UnicodeDecodeError as error:
        return FileText(problem=_not_utf8(error))
    except NotebookError as error:
        return FileText(problem=Problem("syntax", str(error)))
    return FileText(notebook.text, notebook)


def _not_utf8(error: UnicodeDecodeError) -> Problem:
    """The problem at the line of the byte that is wrong."""
    before = error.object[: error.start].decode("utf-8").split("\n")
    line, column = len(before), len(before[-1])
    message = f"is not UTF-8: {error.reason} at byte {error.start}"
    return Problem("syntax", message, Span(line, column, line, column + 1))
