"""What the names of a kernel's parameters and dimensions mean: sizes of language models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tirlens.file_reader import read_text
from tirlens.toml_reader import tomllib

_NAMES = Path(__file__).parent / "names.toml"


@dataclass(frozen=True)
class Meaning:
    """The size that a name is: alternatives, each a sum of keys of sizes and of numbers.

    A model without an `optional` one is not excluded.
    """

    alternatives: tuple[tuple[str, ...], ...]
    optional: bool = False

    def value(self, sizes: Mapping[str, int]) -> int | None:
        """Its value in a model with `sizes`; None if the model does not have it."""
        for terms in self.alternatives:
            values = [int(term) if term.isdigit() else sizes.get(term) for term in terms]
            if None not in values:
                return sum(value for value in values if value is not None)
        return None

    @property
    def is_sharded(self) -> bool:
        """Whether a device may hold an equal part of it."""
        return any(term in _table().sharded for terms in self.alternatives for term in terms)

    @property
    def is_number_of_heads(self) -> bool:
        """Whether it is a number of heads, of which a device may hold an equal part."""
        return self.is_sharded and all(
            term.endswith("heads") for terms in self.alternatives for term in terms
        )


@dataclass(frozen=True)
class KernelNames:
    """The names of a kernel that are sizes of models, each with its meaning, and its family."""

    family: str
    typical: tuple[str, ...]
    meanings: Mapping[str, Meaning]

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(names: tuple[str, ...], words: str) -> KernelNames:
        """The meanings of `names`, those of parameters and dimensions.

        `words` are the names of the kernel, of its file and of its folder.
        """
        table, lower = _table(), [name.lower() for name in names]
        family = next(one for one in table.families if one.includes(lower, words.lower()))
        meanings: dict[str, Meaning] = {}
        for name in names:
            row = next((row for row in family.rows if row.includes(name.lower(), lower)), None)
            if row is not None:
                meanings[name] = row.meaning
        return KernelNames(family.name, family.typical, meanings)


@dataclass(frozen=True)
class _Row:
    """What names that `pattern` matches mean, with another name that `others` matches.

    And without one that `excluded` matches.
    """

    pattern: re.Pattern[str]
    meaning: Meaning
    others: re.Pattern[str] | None
    excluded: re.Pattern[str] | None

    def includes(self, name: str, names: Iterable[str]) -> bool:
        """Whether the row is of `name`, one of `names`, in lower case."""
        if self.pattern.fullmatch(name) is None:
            return False
        if self.excluded is not None and any(map(self.excluded.fullmatch, names)):
            return False
        return self.others is None or any(
            self.others.fullmatch(other) for other in names if other != name
        )


@dataclass(frozen=True)
class _Family:
    """Kernels in which names mean the same; `parameters` are patterns of names that they have."""

    name: str
    words: re.Pattern[str] | None
    parameters: tuple[re.Pattern[str], ...]
    typical: tuple[str, ...]
    rows: tuple[_Row, ...]

    def includes(self, names: Iterable[str], words: str) -> bool:
        """Whether a kernel with these names, in lower case, is of the family."""
        if self.words is not None and self.words.search(words):
            return True
        if not self.parameters:
            return self.words is None
        return all(any(map(pattern.fullmatch, names)) for pattern in self.parameters)


@dataclass(frozen=True)
class _Table:
    sharded: frozenset[str]
    families: tuple[_Family, ...]


@cache
def _table() -> _Table:
    table: dict[str, Any] = tomllib.loads(read_text(_NAMES, limit_s=None))
    common = [_row(row) for row in table["common"]]
    return _Table(
        frozenset(table["sharded"]),
        tuple(
            _Family(
                one["name"],
                re.compile(one["words"]) if one["words"] else None,
                tuple(map(re.compile, one["parameters"])),
                tuple(one["typical"]),
                (*map(_row, one["sizes"]), *common),
            )
            for one in table["family"]
        ),
    )


def _row(row: Mapping[str, Any]) -> _Row:
    sums = tuple(tuple(part.strip() for part in text.split("+")) for text in row["size"])
    others, excluded = (re.compile(row[key]) if key in row else None for key in ("with", "without"))
    meaning = Meaning(sums, bool(row.get("optional")))
    return _Row(re.compile(row["names"]), meaning, others, excluded)
