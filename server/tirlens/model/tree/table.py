"""The tables of the stages: what a stage finds of each statement, by the statement's number.

A stage returns its tables whole and has no defaults in them, so that nothing can be read before the
stage that finds it has run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from .node import Leaf

Row = TypeVar("Row", covariant=True)


class Table(Generic[Row]):
    """A row for each statement of a tree, in program order."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def __getitem__(self, leaf: Leaf) -> Row:
        """The row of a statement."""
        return self._rows[leaf.number]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
