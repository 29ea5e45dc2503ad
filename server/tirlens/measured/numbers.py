"""Numbers as traces write them."""

from __future__ import annotations

import math

# A year: what is longer is a time stamp or no time at all.
_LONGEST_S = 3.2e7


def number_of(text: str) -> float:
    """A finite number, with or without separators of thousands.

    Raises
    ------
    ValueError
        It is none; the text says why.
    """
    try:
        value = float(text.strip().replace(",", ""))
    except ValueError:
        raise ValueError(f"{_shortened_repr(text)} is no number") from None
    if not math.isfinite(value):
        raise ValueError(f"{_shortened_repr(text)} is not finite")
    return value


def seconds_of(text: str, unit_s: float = 1.0) -> float:
    """A duration in seconds, of a number in units of `unit_s`.

    Raises
    ------
    ValueError
        It is no number, is negative, or longer than a year.
    """
    value = number_of(text) * unit_s
    if value < 0:
        raise ValueError(f"{_shortened_repr(text)} is negative")
    if value > _LONGEST_S:
        raise ValueError(f"{_shortened_repr(text)} is longer than a year")
    return value


def _shortened_repr(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
