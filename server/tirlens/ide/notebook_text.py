"""The cells of a notebook as one Python text, and the lines of each cell in it.

The Python cells follow one another in the order of the notebook, as *Run All* executes them. What
IPython reads and Python does not (magics, commands of the shell, help) becomes a comment, so that
each line of a cell is one line of the text, with the same columns wherever it is Python.

``from __future__ import ...`` may stand at the top of every cell, but only at the top of a text: in
later cells ``pass`` or ``()`` is in its place, so that annotations are evaluated there.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from tirlens.ide.document_text import split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Cell magics whose cell is Python; the cells of all others (``%%bash``) are not.
_PYTHON_CELLS = frozenset(("capture", "debug", "prun", "time", "timeit"))
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
#: ``%time f()``, ``!ls``, ``?f``, ``f?`` and ``files = !ls``.
_MAGIC = re.compile(r"(\s*|\s*[\w., ]+=\s*)(?:[%!?]|[\w.]+\?{1,2}\s*$)")

_CODE = re.compile(r"\s*[^\s#]")


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook.

    Attributes
    ----------
    uri, version
        The editor's name of the cell and its number of the text.
    text
        As the editor has it; None if it is no Python.
    """

    uri: str
    version: int
    text: str | None

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines of the cell as Python; none if it is no Python."""
        return () if self.text is None else _python_lines(split_lines(self.text))


def join_cells(cells: Sequence[Cell]) -> str:
    """The text of the Python cells."""
    found: list[str] = []
    has_code = False
    for cell in cells:
        found += _without_future_imports(cell.lines) if has_code else cell.lines
        has_code = has_code or any(map(_CODE.match, cell.lines))
    return "".join(f"{line}\n" for line in found)


def offsets(cells: Sequence[Cell]) -> list[int]:
    """For each cell, how many lines of the joined text are above it."""
    return [0, *accumulate(len(cell.lines) for cell in cells)][:-1]


def _python_lines(lines: Sequence[str]) -> Sequence[str]:
    first = next((line for line in lines if line.strip()), "")
    cell_magic = _CELL_MAGIC.match(first)
    if cell_magic and cell_magic[1] not in _PYTHON_CELLS:
        return [f"#{line}" for line in lines]
    if not any(_MAGIC.match(line) for line in lines) or _is_python("\n".join(lines)):
        return lines
    found: list[str] = []
    continues = False
    for line in lines:
        magic = _MAGIC.match(line)
        if continues:
            found.append(f"#{line}")
        elif magic is None:
            found.append(line)
        elif magic[1]:
            # A block needs a statement, and a name its value.
            found.append(f"{magic[1]}None  # {line[len(magic[1]) :]}")
        else:
            found.append(f"#{line}")
        continues = (continues or magic is not None) and line.endswith("\\")
    return found


def _without_future_imports(lines: Sequence[str]) -> Sequence[str]:
    """`lines` without the imports of a cell from ``__future__``."""
    if not any("__future__" in line for line in lines):
        return lines
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return lines
    found = list(lines)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            _replace_import(found, node)
    return found


def _replace_import(lines: list[str], node: ast.ImportFrom) -> None:
    """Put ``pass`` in the place of a statement, or ``()`` if it has several lines.

    All that stands before and behind it keeps its line and its column.
    """
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    # The columns of the tree are bytes.
    top, bottom = lines[first].encode(), lines[last].encode()
    end = node.end_col_offset or len(bottom)
    if first == last:
        blank = b"pass".ljust(end - node.col_offset)
        lines[first] = (top[: node.col_offset] + blank + top[end:]).decode()
        return
    opened = b"(".ljust(len(top) - node.col_offset)
    lines[first] = (top[: node.col_offset] + opened).decode()
    for index in range(first + 1, last):
        lines[index] = f"#{lines[index]}"
    lines[last] = (b")".rjust(end) + bottom[end:]).decode()


def _is_python(text: str) -> bool:
    """Whether Python reads a text as it is: ``%`` and ``!`` then begin no magic in it."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
