"""Text of the user in Markdown and CSV, with what would be syntax there escaped."""

from __future__ import annotations

import re

# An underscore inside a word is no emphasis (CommonMark 0.31, "Emphasis and strong emphasis").
_MARKDOWN = re.compile(r"[\\`*<>\[\]|#~&]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
# A list, a rule or the underline of a heading.
_BLOCK_START = re.compile(r"^(\d*)([-+=.)])(?=[-+=\s]|$)")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t")


def prose(text: str) -> str:
    """`text` on one line with the special characters of Markdown and HTML escaped."""
    flat = _MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))
    return _BLOCK_START.sub(r"\1\\\2", flat)


def code(text: str) -> str:
    """Inline code of Markdown that neither a backtick nor a bar in `text` can break."""
    flat = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{flat}`" if flat else ""


def csv_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: an apostrophe precedes a text like one."""
    if not isinstance(value, str):
        return value
    # The writer does not quote a carriage return alone.
    text = value.replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
