"""The spans of what was found in a text, at the lines where its statements stand now."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

from tirlens_worker.facts import Span

T = TypeVar("T")
Lines = tuple[tuple[int, int], ...]
_PLAIN = (int, float, str, bool, type(None))


class Moved:
    """Moves spans in statements that stood at the lines `then` to where these are `now`."""

    def __init__(self, then: Lines, now: Lines) -> None:
        self._shifts = [
            (first, last, here - first) for (first, last), (here, _) in zip(then, now, strict=True)
        ]
        self._missed = False

    def value(self, value: T) -> T:
        """`value`, built of dataclasses, tuples and mappings, with its spans moved."""
        return self._moved(value) if any(shift for _, _, shift in self._shifts) else value

    def misses(self, value: object) -> bool:
        """Whether a span of this text in `value` is in none of the statements."""
        self._missed = False
        self._moved(value)
        return self._missed

    def _moved(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, Span):
            return self._span(value)
        if isinstance(value, tuple):
            before = cast("tuple[Any, ...]", value)
            after = tuple(map(self._moved, before))
            return after if any(map(operator.is_not, after, before)) else before
        if isinstance(value, Mapping):
            entries = cast("Mapping[str, Any]", value)
            moved = dict(zip(entries, map(self._moved, entries.values()), strict=True))
            return moved if any(moved[key] is not entries[key] for key in moved) else entries
        fields = {name: getattr(value, name) for name in _fields(value.__class__)}
        moved = {name: self._moved(item) for name, item in fields.items()}
        changed = {name: item for name, item in moved.items() if item is not fields[name]}
        return dataclasses.replace(value, **changed) if changed else value

    def _span(self, span: Span) -> Span:
        if span.file is not None:
            return span
        for first, last, shift in self._shifts:
            if first <= span.line <= last:
                end_line = span.end_line + shift
                return dataclasses.replace(span, line=span.line + shift, end_line=end_line)
        self._missed = True
        return span


@cache
def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))
