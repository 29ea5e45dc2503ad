"""The models that a text names, as code and comments write them: ``DeepSeek-V3.2``, ``dsv32``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tirlens.language_models.catalogue import all_models


def mentions(text: str) -> tuple[str, ...]:
    """The ids of the models that `text` names, in the order of their first mention.

    Of names that begin alike the longest counts: ``qwen3-32b`` names no ``qwen3``.
    """
    lower = text.lower()
    first_words = _by_first_word()
    found: dict[int, str] = {}
    for word, pattern in first_words.items():
        if word in lower:
            for match in pattern.finditer(lower):
                found.setdefault(match.start(), _models_by_group(word)[match.lastgroup or ""])
    return tuple(dict.fromkeys(found[place] for place in sorted(found)))


def _names(word: str) -> Iterator[tuple[str, str]]:
    """The names that begin with `word`, each with its model, the longest first."""
    names = (
        (name, model.id)
        for model in all_models()
        for name in model.words
        if name.split()[0] == word
    )
    yield from sorted(names, key=lambda pair: -len(pair[0]))


@cache
def _models_by_group(word: str) -> dict[str, str]:
    return {f"m{number}": model for number, (_, model) in enumerate(_names(word))}


@cache
def _by_first_word() -> dict[str, re.Pattern[str]]:
    """A pattern of all names that begin with a word, by the word."""
    words = dict.fromkeys(name.split()[0] for model in all_models() for name in model.words)
    return {
        word: re.compile(
            "(?<![a-z])(?:"
            + "|".join(
                f"(?P<m{number}>{'[-_. ]?'.join(map(re.escape, name.split()))}(?![0-9]))"
                for number, (name, _) in enumerate(_names(word))
            )
            + ")"
        )
        for word in words
    }
