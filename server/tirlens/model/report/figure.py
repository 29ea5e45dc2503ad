"""The table of figures: unit, meaning and merge rule of each, beside its field in a report.

All that shows a figure reads this table: JSON and its documentation, hovers, tables, CSV and the
report page.  A figure of several kernels in sequence comes from its merge rule, which each figure
has to state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from statistics import fmean
from typing import Any, Literal, cast

from .values import ReadWrite

Unit = Literal[
    "", "s", "bytes", "bytes/s", "FLOP", "IOP", "FLOP/s", "FLOP/B", "fraction", "registers"
]
"""The unit of a figure; empty for words, counts and values of several parts."""

Merge = Callable[[Sequence[Any], Sequence[float]], Any]
"""One figure for several kernels or lines, from that of each and its share of their time."""


@dataclass(frozen=True)
class Figure:
    """A figure of a kernel or of a line.

    Attributes
    ----------
    name
        The field of the report, and the key in JSON and CSV.
    unit
        What it counts.
    meaning
        What it is, in Markdown.
    merge
        The figure of several kernels.
    term
        Its name in hovers; empty for a figure that is a part of another one's text.
    anchor
        The entry of the glossary that explains the term.
    column
        Its name in tables; empty for a figure that tables leave out.
    """

    name: str
    unit: Unit
    meaning: str
    merge: Merge
    term: str = ""
    anchor: str = ""
    column: str = ""


def figure(
    meaning: str,
    *,
    merge: Merge,
    unit: Unit = "",
    term: str = "",
    anchor: str = "",
    column: str = "",
    default: Any = None,
    default_factory: Callable[[], Any] | None = None,
) -> Any:
    """A field of a report that is a figure; the parameters are those of `Figure`."""
    known = {"figure": Figure("", unit, meaning, merge, term, anchor or term.lower(), column)}
    if default_factory is not None:
        return field(default_factory=default_factory, metadata=known)
    return field(default=default, metadata=known)


@cache
def figures(report: type[Any]) -> tuple[Figure, ...]:
    """The figures of a report or of an entry of its breakdown, in the order of its fields."""
    found: list[Figure] = []
    for one in fields(cast("Any", report)):
        known: Figure | None = one.metadata.get("figure")
        if known is not None:
            found.append(replace(known, name=one.name))
    return tuple(found)


def merged_figures(reports: Sequence[Any], shares: Sequence[float] = ()) -> dict[str, Any]:
    """The figures of several reports, or of several lines, by name, without those `of_longest`.

    `shares` are the parts of the time that each takes.
    """
    return {
        one.name: one.merge([getattr(report, one.name) for report in reports], shares)
        for one in figures(cast("type[Any]", type(reports[0])))
        if one.merge is not of_longest
    }


def total(values: Sequence[Any], shares: Sequence[float] = ()) -> Any:
    """The sum; that of each part for read and write, classes, and the ends of a band.

    None where a summand is not known.
    """
    if None in values:
        return None
    first = values[0]
    if isinstance(first, Mapping):
        return {name: sum(one.get(name, 0) for one in values) for name in _keys(values)}
    if isinstance(first, tuple):
        return tuple(map(sum, zip(*values, strict=True)))
    if isinstance(first, ReadWrite):
        return ReadWrite(total([one.read for one in values]), total([one.write for one in values]))
    return sum(values)


def mean(values: Sequence[Any], shares: Sequence[float]) -> Any:
    """The mean of what is known, weighted by time; that of each part for a mapping."""
    pairs = list(zip(values, shares, strict=True))
    if isinstance(values[0], Mapping):
        return {
            name: sum(one.get(name, 0.0) * share for one, share in pairs) for name in _keys(values)
        }
    known = [(one, share) for one, share in pairs if one is not None and share]
    return fmean(*zip(*known, strict=True)) if known else None


def every(values: Sequence[Any], shares: Sequence[float]) -> bool:
    """Whether it holds for each."""
    return all(values)


def of_longest(values: Sequence[Any], shares: Sequence[float]) -> Any:
    """That of the kernel that takes the longest, or of the first of the lines."""
    return values[0]


def no_sum(values: Sequence[Any], shares: Sequence[float]) -> Any:
    """Nothing: there is no such figure of several, or it follows from other figures."""
    return {} if isinstance(values[0], Mapping) else None


def _keys(values: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    return dict.fromkeys(name for one in values for name in one)
