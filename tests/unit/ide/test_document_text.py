"""Documents stay exact through any edits, whatever their line ends and the client's unit."""

from __future__ import annotations

import io
import re
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirlens.ide.document_text import Edit, Encoding, apply, split_lines, to_code_points, units

_PIECES = st.sampled_from(
    ["a", "bc", " ", "\n", "\r\n", "\r", "\f", "\u2028", "\x85", "\x0b", "é", "漢", "😋", "🇨🇭"]
)
_TEXTS = st.lists(_PIECES, max_size=30).map("".join)
_ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])
_EDITS = st.lists(
    st.builds(Edit, *[st.integers(0, 12)] * 4, _TEXTS),
    max_size=12,
)
_BYTES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def _reference(text: str, edit: Edit, encoding: Encoding) -> str:
    """The edit made on the encoded bytes of a list of (line, end) pairs."""
    codec, size = _BYTES[encoding]
    parts = re.split("(\r\n|\r|\n)", text)
    lines = list(zip(parts[::2], [*parts[1::2], ""], strict=True))

    def offset(line: int, column: int) -> int:
        if line >= len(lines):
            return len(text)
        before = sum(len(body) + len(end) for body, end in lines[:line])
        encoded = lines[line][0].encode(codec)[: column * size]
        # A unit that splits a character counts for nothing.
        return before + len(encoded.decode(codec, "ignore"))

    start, end = sorted(
        [offset(edit.start_line, edit.start_column), offset(edit.end_line, edit.end_column)]
    )
    return text[:start] + edit.new_text + text[end:]


@settings(max_examples=200, deadline=None)
@given(_TEXTS, _EDITS, _ENCODINGS)
def test_edits_agree_with_the_reference(text: str, edits: list[Edit], encoding: Encoding) -> None:
    expected = text
    for edit in edits:
        text = apply(text, edit, encoding)
        expected = _reference(expected, edit, encoding)
        assert text == expected


@given(_TEXTS)
def test_lines_are_those_of_the_protocol(text: str) -> None:
    assert list(split_lines(text)) == re.split("\r\n|\r|\n", text)


def test_lines_are_those_of_the_tokenizer() -> None:
    text = "a = 1\n\f\nb = '\u2028\x85'\nc = 2\n"
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    names = {token.string: token.start[0] for token in tokens if token.type == tokenize.NAME}
    lines = split_lines(text)
    assert {name: lines[line - 1][0] for name, line in names.items()} == {n: n for n in names}


@pytest.mark.parametrize(
    ("encoding", "columns"),
    [("utf-8", [0, 1, 5, 6]), ("utf-16", [0, 1, 3, 4]), ("utf-32", [0, 1, 2, 3])],
)
def test_columns_there_and_back(encoding: Encoding, columns: list[int]) -> None:
    line = "a😋b"
    assert [units(line[:index], encoding) for index in range(4)] == columns
    assert [to_code_points(line, column, encoding) for column in columns] == [0, 1, 2, 3]
