"""The lines of a text as Python and the editor's protocol count them.

A line ends at ``\\n``, ``\\r\\n`` or ``\\r``.  `str.splitlines` also ends one at a form feed, at
U+2028 and others, after which every number would be off.
"""

from __future__ import annotations

import re
from typing import List

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def split_lines(text: str, keep_ends: bool = False) -> List[str]:
    """The lines of `text`; what follows the last line end is a line only if it is not empty."""
    lines = _LINE.findall(text)
    return lines if keep_ends else [line.rstrip("\r\n") for line in lines]
