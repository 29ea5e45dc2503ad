"""A text is parsed piece by piece, and comes to what it comes to as a whole."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from support import responses
from support.robust import amount
from tirlens.source import pieces, read

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
TYPED = [*"()[]{}:=,.'\"\\@ #x1", '"""', "else:", "    ", "\t", "\f", "def f(", "@x"]


def outcome(lines: list[str], in_pieces: bool) -> object:
    """The tree with all places, or the error with its place."""
    try:
        tree = pieces.Pieces().parse(lines) if in_pieces else pieces.parse(lines)
    except SyntaxError as error:
        return error.msg, error.lineno, error.offset, error.end_lineno, error.end_offset
    except ValueError as error:
        return str(error)
    return ast.dump(tree, include_attributes=True)


def edited(lines: list[str], source: random.Random) -> list[str]:
    """The text with one line typed into, emptied, left out or repeated."""
    at = source.randrange(len(lines))
    line = lines[at]
    column = source.randrange(len(line) + 1)
    typed = line[:column] + source.choice(TYPED) + line[column:]
    other = [[typed], [line[:column] + line[column + 1 :]], [], [""], [line, line]]
    return [*lines[:at], *source.choice(other), *lines[at + 1 :]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_pieces_are_the_whole_also_of_broken_texts(path: Path) -> None:
    source = random.Random(path.name)
    lines = path.read_text(encoding="utf-8").split("\n")
    # Long enough for many pieces, with docstrings, brackets and decorators at every cut.
    lines = [line for _ in range(max(1, 300 // len(lines))) for line in lines]
    assert outcome(lines, True) == outcome(lines, False)
    for _ in range(amount(8, 200)):
        after = edited(lines, source)
        assert outcome(after, True) == outcome(after, False)


@pytest.mark.parametrize("line", [None, "    x = = 3"], ids=["whole", "broken"])
def test_no_long_text_is_parsed_at_once(line: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser lets no other thread run: so long as it takes, no request is answered."""
    lines = responses.long_text().split("\n")
    if line is not None:
        lines[2501] = line
    longest = 0
    real = ast.parse

    def watched(text: str, *arguments: object, **options: object) -> ast.AST:
        nonlocal longest
        longest = max(longest, len(text.strip("\n").split("\n")))
        return real(text, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(ast, "parse", watched)
    found = read("\n".join(lines))
    assert len(found.kernels) >= responses.KERNELS - 1
    assert bool(found.problems) == (line is not None)
    assert 0 < longest < 150
