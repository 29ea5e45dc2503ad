"""Numbers as traces write them."""

from __future__ import annotations

import math
import re

#: A year: what is longer is a time stamp or no time at all.
LONGEST_S = 3.2e7
_MOST = 1e15
_DIGITS_OF_COUNTS = 15

_EXCHANGED = str.maketrans(",.", ".,")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?$")


def number_of(text: str, decimal_comma: bool = False) -> float:
    """A finite number, with or without separators of thousands.

    Parameters
    ----------
    text
        The number.  A comma that does not separate three digits is an error, not a separator.
    decimal_comma
        The program wrote it in a locale with a comma for decimals and points for thousands.

    Raises
    ------
    ValueError
        It is none; the text says why.
    """
    digits = text.strip()
    if decimal_comma:
        digits = digits.translate(_EXCHANGED)
    if "," in digits and _GROUPED.match(digits):
        digits = digits.replace(",", "")
    try:
        value = float(digits)
    except ValueError:
        raise ValueError(f"{shortened_repr(text)} is no number") from None
    if not math.isfinite(value):
        raise ValueError(f"{shortened_repr(text)} is not finite")
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
        raise ValueError(f"{shortened_repr(text)} is negative")
    if value > LONGEST_S:
        raise ValueError(f"{shortened_repr(text)} is longer than a year")
    return value


def count_of(text: str) -> int:
    """A number of things.

    Raises
    ------
    ValueError
        It is no whole number from 0 on, or more than a trace can count.
    """
    if len(text) <= _DIGITS_OF_COUNTS and text.isdecimal():
        return int(text)
    value = number_of(text)
    if value < 0 or value != int(value) or value > _MOST:
        raise ValueError(f"{shortened_repr(text)} is no count")
    return int(value)


def shortened_repr(text: str) -> str:
    """`text` in quotes, with at most 40 of its characters."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
