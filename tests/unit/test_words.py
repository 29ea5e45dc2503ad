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
IDENTIFIER = re.compile(r"[^\W\d]\w*")
#: Functions are verbs or the noun that they return, so none is a participle alone.
PARTICIPLE = re.compile(
    r"^_?(?:[a-z]+ed|drawn|given|held|kept|known|led|left|made|meant|met|seen|shown"
    r"|spent|spread|taken|told|written)$"
)
#: Words that end like participles and are verbs or nouns.
VERBS = frozenset({"embed", "exceed", "feed", "initialized", "need", "proceed", "seed", "speed"})


@cache
def banned_words_of(name: str) -> tuple[str, ...]:
    """The words of `NAMES` in an identifier in snake or camel case."""
    words = (word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name))
    return tuple(word for word in words if word in NAMES)


def tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a module."""
    return tokenize.generate_tokens(io.StringIO(text).readline)


def names_out(path: Path, text: str) -> Iterator[str]:
    """The names of a module that have a word of `NAMES`."""
    for word in banned_words_of(path.stem):
        yield f"the module's name: '{word}'; instead: {NAMES[word]}"
    # Few modules have such a word anywhere, and only theirs are divided into tokens.
    if any(map(banned_words_of, set(IDENTIFIER.findall(text)))):
        for token in tokens(text):
            if token.type == tokenize.NAME:
                for word in banned_words_of(token.string):
                    yield f"line {token.start[0]}: {token.string}; instead: {NAMES[word]}"


def prose_out(text: str) -> Iterator[str]:
    """The places of a module where a docstring, comment or message has a phrase of `PROSE`."""
    for token in tokens(text) if PROSE.search(text) else ():
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for match in PROSE.finditer(token.string):
                line = token.start[0] + token.string.count("\n", 0, match.start())
                yield f"line {line}: '{match[0]}'"


def participles(text: str) -> Iterator[str]:
    """The functions of a module, but for properties, that are called by a participle alone."""
    if not any(PARTICIPLE.match(name) for name in re.findall(r"\bdef\s+(\w+)", text)):
        return
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and PARTICIPLE.match(node.name)
            and node.name.lstrip("_") not in VERBS
            and not any("property" in ast.unparse(mark) for mark in node.decorator_list)
        ):
            yield f"line {node.lineno}: {node.name}"


def test_the_modules() -> None:
    found: list[str] = []
    for path in MODULES:
        text = path.read_text("utf-8")
        parts = [*names_out(path, text), *prose_out(text), *participles(text)]
        found += [f"{path.relative_to(SERVER)}: {part}" for part in parts]
    assert not found, "\n".join(found)


def test_the_pages() -> None:
    found = [
        f"{path.relative_to(ROOT)}: line {number}: '{match[0]}'"
        for path in PAGES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in PROSE.finditer(line)
    ]
    assert not found, "\n".join(found)


def test_words_that_are_out_are_found(tmp_path: Path) -> None:
    path = tmp_path / "sizes_told.py"
    path.write_text('"""Who wanders."""\nclass LastTurn: ...\ndef kept(): ...\n')
    text = path.read_text()
    assert len([*names_out(path, text)]) == 2
    assert len([*prose_out(text)]) == 1
    assert len([*participles(text)]) == 1
