"""The source text that facts are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Span:
    """A range of source text.

    Lines are 1-based, columns 0-based in code points, the end is exclusive.  `file` is None for
    the analysed document and a path for another file (a macro in a library).
    """

    line: int
    column: int
    end_line: int
    end_column: int
    file: Optional[str] = None
