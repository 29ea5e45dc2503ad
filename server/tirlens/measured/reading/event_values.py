"""The values of the events of a Chrome trace, which say the same in several ways."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

from tirlens.measured.reading.numbers import LONGEST_S, number_of

_LONGEST_US = LONGEST_S * 1e6
# In nanoseconds it fits the 63 bits of SQLite's integers.
_LATEST_US = 9e15


def times_ns(event: dict[str, Any]) -> tuple[int, int]:
    """Begin and duration in nanoseconds.

    Raises
    ------
    ValueError
        One of them is missing, or no time; the text says which.
    """
    start_ns = _nanoseconds(event, "ts", _LATEST_US)
    time_ns = _nanoseconds(event, "dur", _LONGEST_US)
    if time_ns < 0:
        raise ValueError(f"dur: {time_ns} ns is negative")
    return start_ns, time_ns


def _nanoseconds(event: dict[str, Any], key: str, limit_us: float) -> int:
    """A time in microseconds, exact: as a float it would be rounded."""
    value = event.get(key)
    if isinstance(value, str):
        # Numbers with a fraction are text, so that none is rounded.
        whole, _, fraction = value.partition(".")
        if len(whole) < 16 and whole.isdecimal() and fraction.isdecimal():
            whole_us = int(whole)
            if whole_us < limit_us:
                return whole_us * 1000 + int((fraction + "00")[:3])
    elif isinstance(value, int) and abs(value) < limit_us:
        return value * 1000
    if value is None or isinstance(value, list | dict):
        raise ValueError(f"{key}: the event has no such time")
    text = text_of(value)[:400].strip()
    if abs(number_of(text)) >= limit_us:
        raise ValueError(f"{key}: {text[:40]} us is no time")
    return int(Decimal(text.replace(",", "")) * 1000)


def name_of(event: dict[str, Any]) -> str:
    """The name of an event."""
    return text_of(event.get("name")) or "(no name)"


def word_of(value: Any) -> str:
    """A value as words; those of a list one after the other."""
    return (
        " > ".join(map(text_of, cast(list[Any], value)))
        if isinstance(value, list)
        else text_of(value)
    )


def text_of(value: Any) -> str:
    """The value as text that can be encoded: JSON may have halves of characters."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def integer_of(value: Any) -> int | None:
    """A number without a fraction that fits 63 bits, also as text, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None
    return value if isinstance(value, int) and abs(value) < 1 << 62 else None


def sizes_of(value: Any) -> tuple[int, ...] | None:
    """A list of sizes; None for anything else."""
    if not isinstance(value, list):
        return None
    sizes = [integer_of(size) for size in cast(list[Any], value)]
    known = tuple(size for size in sizes if size is not None and size >= 0)
    return known if len(known) == len(sizes) else None


def triple_of(value: Any) -> tuple[int, int, int] | None:
    """Three positive sizes, such as a grid; None for anything else."""
    sizes = sizes_of(value)
    return sizes if sizes is not None and len(sizes) == 3 and min(sizes) > 0 else None
