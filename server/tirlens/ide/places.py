"""Places in files as text: ``kernel.py:12``, and ``notes.ipynb:cell 3:12`` in a notebook."""

from __future__ import annotations

from tirlens.ide.notebook_file import CellSpan
from tirlens_worker.facts import Span


def line(span: Span) -> str:
    """``12``, or ``cell 3:12``."""
    return f"cell {span.cell}:{span.line}" if isinstance(span, CellSpan) else str(span.line)


def at_line(span: Span) -> str:
    """``line 12``, or ``cell 3:12``."""
    return line(span) if isinstance(span, CellSpan) else f"line {span.line}"


def place(path: str, span: Span) -> str:
    """``kernel.py:12``, in the file `path` or that of the span."""
    return f"{span.file or path}:{line(span)}"


def position(path: str, span: Span | None) -> str:
    """``kernel.py:12:5`` with the column from 1; the top of the file `path` without a span."""
    return f"{path}:1:1" if span is None else f"{place(path, span)}:{span.column + 1}"
