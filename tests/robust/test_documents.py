"""Requirement 5: documents are exact after any edits, in each unit of columns and line ending."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any

import pytest

from support.robust import amount, server_here, tell
from tirlens.ide.document_text import Edit, Encoding, apply

ENCODINGS = ("utf-8", "utf-16", "utf-32")
ENDINGS = {"LF": ["\n"], "CRLF": ["\r\n"], "CR": ["\r"], "mixed": ["\n", "\r\n", "\r"]}
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_PIECES = ["a", "bc ", "\t", "\f", "\u2028", "\x85", "\x0b", "é", "漢", "😋", "🇨🇭", "e\u0301", ""]
_EDITS = 6


class Reference:
    """Lines of bytes in the client's unit: the protocol's words, done slowly."""

    def __init__(self, text: str, encoding: str) -> None:
        self.codec, self.size = _CODECS[encoding]
        self.text = text

    def edit(self, edit: Edit) -> None:
        start = self._offset(edit.start_line, edit.start_column)
        end = self._offset(edit.end_line, edit.end_column)
        start, end = min(start, end), max(start, end)
        self.text = self.text[:start] + edit.new_text + self.text[end:]

    def _offset(self, line: int, column: int) -> int:
        parts = re.split("(\r\n|\r|\n)", self.text)
        if 2 * line >= len(parts):
            return len(self.text)
        encoded = parts[2 * line].encode(self.codec)[: column * self.size]
        return len("".join(parts[: 2 * line])) + len(encoded.decode(self.codec, "ignore"))


def _text(source: random.Random, endings: list[str], longest: int) -> str:
    pieces = [*_PIECES, *endings * 3]
    return "".join(source.choice(pieces) for _ in range(source.randrange(longest)))


def _edit(source: random.Random, endings: list[str]) -> Edit:
    def place() -> tuple[int, int]:
        if source.random() < 0.05:
            return source.choice([0, 3, 10**6]), source.choice([0, 2**31 - 1])
        return source.randrange(9), source.randrange(12)

    return Edit(*place(), *place(), _text(source, endings, 8))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("endings", ENDINGS.values(), ids=ENDINGS)
def test_05_random_edit_sequences_agree_with_the_reference(
    encoding: Encoding, endings: list[str]
) -> None:
    for seed in range(amount(850, 10_000)):
        source = random.Random(f"{encoding} {endings} {seed}")
        text = _text(source, endings, 40)
        reference = Reference(text, encoding)
        for _ in range(_EDITS):
            edit = _edit(source, endings)
            text = apply(text, edit, encoding)
            reference.edit(edit)
            assert text == reference.text, f"seed {seed}"


def _change(edit: Edit) -> dict[str, Any]:
    start = {"line": edit.start_line, "character": edit.start_column}
    end = {"line": edit.end_line, "character": edit.end_column}
    return {"range": {"start": start, "end": end}, "text": edit.new_text}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_05_the_server_keeps_the_document_of_the_reference(encoding: str) -> None:
    """The whole way from a message's bytes, several changes in one message included."""

    async def scenario() -> None:
        with server_here(encoding) as server:
            for seed in range(amount(60, 1000)):
                source = random.Random(seed)
                endings = source.choice(list(ENDINGS.values()))
                text = _text(source, endings, 40)
                uri = f"file:///nowhere/{seed}.py"
                item = {"uri": uri, "languageId": "python", "version": 0, "text": text}
                tell(server, "textDocument/didOpen", {"textDocument": item})
                reference = Reference(text, encoding)
                for version in range(1, 5):
                    edits = [_edit(source, endings) for _ in range(source.randrange(1, 4))]
                    changes = [_change(edit) for edit in edits]
                    document = {"uri": uri, "version": version}
                    params = {"textDocument": document, "contentChanges": changes}
                    tell(server, "textDocument/didChange", params)
                    for edit in edits:
                        reference.edit(edit)
                    assert server.document(uri).text == reference.text, f"seed {seed}"
                    assert server.document(uri).version == version
                tell(server, "textDocument/didClose", {"textDocument": {"uri": uri}})
            await server.session.shut_down()

    asyncio.run(scenario())
