"""The lines of a text as Python and the editor's protocol count them.

A line ends at ``\\n``, ``\\r\\n`` or ``\\r``.  `str.splitlines` also splits at form feeds, U+2028
and other characters, so that its line numbers differ.
"""

from __future__ import annotations

import re
from typing import List

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str, keep_ends: bool = False) -> List[str]:
    """The lines of `text`; the text after the last line end is a line if it is not empty."""
    lines = _LINE.findall(text)
    return lines if keep_ends else [line.rstrip("\r\n") for line in lines]
