"""Other source spans in a value: at the lines where statements are after an edit."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, cast

from tirlens_worker.facts import Span

T = TypeVar("T")
# First and last lines of statements, 1-based, both included.
Lines = tuple[tuple[int, int], ...]
_PLAIN = (int, float, str, bool, type(None))


class LineShift(NamedTuple):
    """The lines `first_line` to `last_line` are now `lines` further down."""

    first_line: int
    last_line: int
    lines: int


def line_shifts(before: Lines, after: Lines) -> list[LineShift]:
    """The shifts of statements at the lines `before` that are at the lines `after` now."""
    pairs = zip(before, after, strict=True)
    return [LineShift(first, last, now - first) for (first, last), (now, _) in pairs]


def shift_spans(value: T, shifts: Sequence[LineShift]) -> T:
    """Shift the spans in `value`.

    Parameters
    ----------
    value
        Built of dataclasses, tuples, mappings and plain values. Spans of other files stay.
    shifts
        At most one for each line. A span that starts at another line stays.

    Returns
    -------
    T
        `value` itself where nothing changes.
    """
    if not any(shift.lines for shift in shifts):
        return value
    return map_spans(value, partial(_shifted_span, shifts))


def map_spans(value: T, change: Callable[[Span], Span]) -> T:
    """Put ``change(span)`` in the place of each span in `value`.

    Parameters
    ----------
    value
        Built of dataclasses, tuples, mappings and plain values.

    Returns
    -------
    T
        `value` itself where nothing changes.
    """
    return _map(value, change)


def has_span_outside(value: Any, lines: Lines) -> bool:
    """Whether a span of this file in `value` starts at a line that is in none of `lines`."""
    if isinstance(value, _PLAIN):
        return False
    if isinstance(value, Span):
        inside = any(first <= value.line <= last for first, last in lines)
        return value.file is None and not inside
    if isinstance(value, tuple):
        return any(has_span_outside(item, lines) for item in cast("tuple[Any, ...]", value))
    if isinstance(value, Mapping):
        return any(has_span_outside(v, lines) for v in cast("Mapping[str, Any]", value).values())
    return any(has_span_outside(getattr(value, name), lines) for name in _fields(value.__class__))


def _map(value: Any, change: Callable[[Span], Span]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Span):
        return change(value)
    if isinstance(value, tuple):
        before = cast("tuple[Any, ...]", value)
        after = tuple(_map(item, change) for item in before)
        return after if any(map(operator.is_not, after, before)) else before
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        new = {key: _map(item, change) for key, item in entries.items()}
        return new if any(new[key] is not entries[key] for key in new) else entries
    fields = {name: getattr(value, name) for name in _fields(value.__class__)}
    new = {name: _map(item, change) for name, item in fields.items()}
    changed = {name: item for name, item in new.items() if item is not fields[name]}
    return dataclasses.replace(value, **changed) if changed else value


def _shifted_span(shifts: Sequence[LineShift], span: Span) -> Span:
    if span.file is not None:
        return span
    for first_line, last_line, lines in shifts:
        if first_line <= span.line <= last_line:
            end_line = span.end_line + lines
            return dataclasses.replace(span, line=span.line + lines, end_line=end_line)
    return span


@cache
def _fields(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))
