"""Text of the user in Markdown and CSV, with what would be syntax there escaped."""

from __future__ import annotations

import re

# An underscore inside a word is no emphasis (CommonMark 0.31, "Emphasis and strong emphasis").
_MARKDOWN = re.compile(r"[\\`*<>\[\]|#~&]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
# Of both sets of control codes, and for the direction of text (Unicode, UAX 9).
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# A list, a rule or the underline of a heading.
_BLOCK_START = re.compile(r"^(\d*)([-+=.)])(?=[-+=\s]|$)")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t")


def visible(text: str) -> str:
    """`text` without characters that a terminal or a viewer would obey and not show.

    Control characters, of which escape sequences consist, and those that change the direction of
    the text are replaced by ``\ufffd``; tabs and ends of lines stay.
    """
    return _CONTROLS.sub("\ufffd", text)


def prose(text: str) -> str:
    """`text` on one line with the special characters of Markdown and HTML escaped."""
    flat = _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split()))
    return _BLOCK_START.sub(r"\1\\\2", flat)


def code(text: str) -> str:
    """Inline code of Markdown that neither a backtick nor a bar in `text` can break."""
    flat = " ".join(visible(text).split()).replace("`", "'").replace("|", "\\|")
    return f"`{flat}`" if flat else ""


def csv_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: an apostrophe precedes a text like one."""
    if not isinstance(value, str):
        return value
    # The writer does not quote a carriage return alone.
    text = visible(value.replace("\r", "\n"))
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
