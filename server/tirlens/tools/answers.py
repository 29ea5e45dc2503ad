"""Answers as values of JSON: what is unknown is null, what does not apply is left out.

A field without a default is always there. A field that has its default says nothing, and is left
out: an answer is read by the token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Generic, TypeVar, cast

from tirlens.tools.arguments import argument

T = TypeVar("T")
DEFAULT_PAGE, MOST_PAGE = 10, 100
_DIGITS = 3


@dataclass(frozen=True)
class Page:
    """The arguments of a request for a list."""

    offset: int = argument("next_offset of the page before", 0, example=0)
    limit: int = argument(
        "Items of a page", DEFAULT_PAGE, minimum=1, maximum=MOST_PAGE, example=DEFAULT_PAGE
    )

    def cut(self, items: Sequence[T]) -> Listed[T]:
        """The page of `items`."""
        cut = tuple(items[self.offset : self.offset + self.limit])
        end = self.offset + len(cut)
        return Listed(cut, len(items), end if cut and end < len(items) else None)


@dataclass(frozen=True)
class Listed(Generic[T]):
    """One page of a list of `total` items; `next_offset` where more follow."""

    items: tuple[T, ...]
    total: int
    next_offset: int | None = None


def optional(factory: type[Any] = tuple) -> Any:
    """A field of an answer that is left out where it is empty."""
    return field(default_factory=factory)


def as_json(value: Any) -> Any:
    """An answer as values of JSON; floats with three significant digits."""
    if isinstance(value, float):
        rounded = float(f"{value:.{_DIGITS}g}")
        return int(rounded) if abs(rounded) >= 10**_DIGITS else rounded
    if is_dataclass(value) and not isinstance(value, type):
        return {
            item.name: as_json(found)
            for item in fields(value)
            if not _is_default(item, found := getattr(value, item.name))
        }
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (tuple, list)):
        return [as_json(one) for one in cast("Sequence[Any]", value)]
    return value


def _is_default(item: Any, value: Any) -> bool:
    if item.default_factory is not MISSING:
        return not value
    return item.default is not MISSING and value == item.default
