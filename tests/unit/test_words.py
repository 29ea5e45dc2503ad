"""One vocabulary: the words that are out, in names and in prose, and what is used instead.

`server/ARCHITECTURE.md` has the glossary.  A name is checked word by word (`lines_of_turn` holds
``turn``); prose is docstrings, comments and messages.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "server"
PACKAGES = ("tirlens", "tirlens_counting", "tirlens_sass", "tirlens_worker", "tirlens_x86")
MODULES = sorted(path for name in PACKAGES for path in (SERVER / name).rglob("*.py"))
PAGES = sorted(
    [
        *(ROOT / "README.md", ROOT / "CHANGELOG.md", SERVER / "ARCHITECTURE.md"),
        *(SERVER / "docs").rglob("*.md"),
    ]
)

#: Words that are no part of a name, and the field's words for what they meant.
NAMES = {
    "anew": "again, or the cause: `is_reloaded`",
    "beside": "with",
    "behind": "after",
    "brings": "loads, copies",
    "drift": "unsynchronised warps",
    "drifted": "unsynchronised",
    "drifts": "unsynchronised",
    "goes": "the verb: moves, continues",
    "hearsay": "provenance",
    "slab": "tile, footprint",
    "slabs": "tiles, footprints",
    "settled": "resolved, bound",
    "shown": "displayed, resolved",
    "stands": "is",
    "told": "reported, resolved, data-dependent",
    "turn": "iteration",
    "turning": "iterating",
    "turns": "iterations, trip count",
    "wander": "data-dependent",
    "wanders": "data-dependent",
}
#: Phrases that are out of docstrings, comments, messages and pages.
PROSE = re.compile(
    r"\b(anew|drift(?:s|ed|ing)?|hearsay|looked at|slabs?|stands? for"
    r"|told|turns of|wander(?:s|ing)?|whoever|who walks|goes by|met by)\b",
    re.IGNORECASE,
)
#: Functions are verbs or the noun that they return, so none is a participle alone.
PARTICIPLE = re.compile(
    r"^_?(?:[a-z]+ed|drawn|given|held|kept|known|led|left|made|meant|met|seen|shown"
    r"|spent|spread|taken|told|written)$"
)
#: Words that end like participles and are verbs or nouns.
VERBS = frozenset({"embed", "exceed", "feed", "initialized", "need", "proceed", "seed", "speed"})


def words_of(name: str) -> list[str]:
    """The words of an identifier in snake or camel case, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


@cache
def tokens(path: Path) -> tuple[tokenize.TokenInfo, ...]:
    """The tokens of a module."""
    return tuple(tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline))


def names_out(path: Path) -> Iterator[str]:
    """The names of a module that have a word of `NAMES`."""
    for word in words_of(path.stem):
        if word in NAMES:
            yield f"the module's name: '{word}'; instead: {NAMES[word]}"
    for token in tokens(path):
        if token.type == tokenize.NAME:
            for word in words_of(token.string):
                if word in NAMES:
                    yield f"line {token.start[0]}: {token.string}; instead: {NAMES[word]}"


def prose_out(path: Path) -> Iterator[str]:
    """The places of a module where a docstring, comment or message has a phrase of `PROSE`."""
    for token in tokens(path):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for match in PROSE.finditer(token.string):
                line = token.start[0] + token.string.count("\n", 0, match.start())
                yield f"line {line}: '{match[0]}'"


def participles(path: Path) -> Iterator[str]:
    """The functions of a module, but for properties, that are called by a participle alone."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and PARTICIPLE.match(node.name)
            and node.name.lstrip("_") not in VERBS
            and not any("property" in ast.unparse(mark) for mark in node.decorator_list)
        ):
            yield f"line {node.lineno}: {node.name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SERVER)))
def test_a_module(path: Path) -> None:
    found = [*names_out(path), *prose_out(path), *participles(path)]
    assert not found, "\n".join([str(path), *found])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    found = [f"line {n}: '{m[0]}'" for n, text in enumerate(lines, 1) for m in PROSE.finditer(text)]
    assert not found, "\n".join([str(path), *found])


def test_words_that_are_out_are_found(tmp_path: Path) -> None:
    path = tmp_path / "sizes_told.py"
    path.write_text('"""Who wanders."""\nclass LastTurn: ...\ndef kept(): ...\n')
    assert len([*names_out(path)]) == 2
    assert len([*prose_out(path)]) == 1
    assert len([*participles(path)]) == 1
