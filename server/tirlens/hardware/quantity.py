"""The numbers of a device: the unit of each, and the range that real devices are in.

The range of a number stands in the annotation of its field, as ``Annotated[float, Range(...)]``.
The reader, the audit and the documentation take it from there.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

LEAST_SUSTAINED = 0.2
# How a number is known: measured on the device, or from its data sheet where it is one of a data
# sheet; another device's own number; scaled from another device; estimated; measurements disagree.
Provenance = Literal["measured", "as", "scaled", "estimate", "disputed"]


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high` in `unit`; with `gpu_only`, 0 where the device is no GPU."""

    low: float
    high: float
    unit: str
    gpu_only: bool = False

    def holds(self, value: float, gpu: bool = True) -> bool:
        """Whether a device may have this `value`; 0 if it need not have any and is no `gpu`."""
        if value == 0 and self.gpu_only and not gpu:
            return True
        return self.low <= value <= self.high

    def complaint(self, value: float) -> str:
        """What is wrong with `value`, with a guess when a power of 1000 would put it right."""
        # An integer may be too large for a float.
        value = min(max(value, -1e300), 1e300)
        text = f"{value:g} is not plausible; expected {self.low:g} to {self.high:g} {self.unit}"
        for factor in (1e3, 1e6, 1e9, 1e12, 1024, 1024**2):
            if self.low <= value * factor <= self.high:
                return f"{text} (a slip of the unit? {value * factor:g} would be plausible)"
            if self.low <= value / factor <= self.high:
                return f"{text} (a slip of the unit? {value / factor:g} would be plausible)"
        return text


Clocks = Annotated[float, Range(1, 10_000, "clocks")]
Sustained = Annotated[float, Range(LEAST_SUSTAINED, 1.05, "as a fraction of the datasheet")]


@dataclass(frozen=True)
class Number:
    """A number of a device by its dotted key in the device file."""

    key: str
    value: float
    range: Range


def numbers(table: Any, prefix: str = "") -> Iterator[Number]:
    """The numbers of a device, or of a table of it, whose fields have a range."""
    if isinstance(table, Mapping):
        for name, value in cast("Mapping[str, Any]", table).items():
            yield from numbers(value, f"{prefix}{name}.")
    elif is_dataclass(table):
        for name, kind in field_types(cast("type", type(table))).items():
            value, found = getattr(table, name), _range_of(kind)
            if found is None:
                yield from numbers(value, f"{prefix}{name}.")
            elif value is not None:
                yield Number(prefix + name, value, found)


@dataclass(frozen=True)
class NumberField:
    """A number that a device file can have: ``*`` in the key is a name that the file chooses."""

    key: str
    range: Range
    is_whole: bool


def number_fields(table: Any, prefix: str = "") -> Iterator[NumberField]:
    """The numbers that a data class, or one in a mapping or an optional field, can have."""
    if is_dataclass(table):
        for name, kind in field_types(cast("type", table)).items():
            found = _range_of(kind)
            if found is None:
                yield from number_fields(kind, f"{prefix}{name}.")
            else:
                is_whole = int in (getattr(kind, "__origin__", None), *get_args(kind))
                yield NumberField(prefix + name, found, is_whole)
    else:
        below = f"{prefix}*." if get_origin(table) is collections.abc.Mapping else prefix
        for inner in get_args(table):
            yield from number_fields(inner, below)


@cache
def field_types(table: type) -> Mapping[str, Any]:
    """The type of each field with its annotations."""
    hints = get_type_hints(table, include_extras=True)
    return {field.name: hints[field.name] for field in fields(table)}


def _range_of(kind: Any) -> Range | None:
    """The range in a type, also in one that may be None."""
    found = [item for item in getattr(kind, "__metadata__", ()) if isinstance(item, Range)]
    if not found:
        found = [item for inner in get_args(kind) if (item := _range_of(inner)) is not None]
    return found[0] if found else None


__all__ = [
    "Clocks",
    "Number",
    "NumberField",
    "Provenance",
    "Range",
    "Sustained",
    "field_types",
    "number_fields",
    "numbers",
]
