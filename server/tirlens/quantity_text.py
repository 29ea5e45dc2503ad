"""Quantities as text, with few digits and prefixes of units: the one formatter of figures."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_PREFIXES = ((24, "Y"), (21, "Z"), (18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"))
_LEAST_COUNT = 0.01
SMALL_PREFIXES = ((0, ""), (-3, "m"), (-6, "u"), (-9, "n"), (-12, "p"))


def significant(value: Decimal, digits: int) -> Decimal:
    """`value` with `digits` significant digits, halves away from zero."""
    if not value:
        return Decimal(0)
    exponent = value.adjusted() - digits + 1
    return value.quantize(Decimal(1).scaleb(exponent), rounding=ROUND_HALF_UP)


def plain(value: Decimal) -> str:
    """`value` without an exponent and without zeros at its end."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_prefix(
    value: float, digits: int, prefixes: tuple[tuple[int, str], ...]
) -> tuple[str, str]:
    """The digits of `value` with one of the prefixes, and the prefix."""
    exact = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    if not exact.is_finite():
        return str(value), ""
    if not exact:
        return "0", ""
    # The digits before the point always count, so that 137 stays 137 with two digits.
    rounded = significant(exact, max(digits, exact.adjusted() % 3 + 1))
    for exponent, prefix in prefixes:
        if abs(rounded) >= Decimal(1).scaleb(exponent):
            return plain(rounded.scaleb(-exponent)), prefix
    exponent, prefix = prefixes[-1]
    return plain(rounded.scaleb(-exponent)), prefix


def quantity(value: float | None, unit: str = "", digits: int = 3) -> str:
    """`value` with an SI prefix on `unit`: ``137 GFLOP``, ``1.21 GB``, ``512 B``.

    Counts have no milli: values below 1 keep their plain form (``0.25 FLOP``).
    """
    if value is None:
        return f"? {unit}".rstrip()
    if 0 < abs(value) < _LEAST_COUNT:
        return f"<{_LEAST_COUNT} {unit}".rstrip()
    number, prefix = with_prefix(value, digits, (*_PREFIXES, (0, "")))
    return f"{number} {prefix}{unit}".rstrip()


def seconds(value: float | None, digits: int = 3) -> str:
    """A duration: ``87.1 us``, ``1.2 ms``, ``3 s``."""
    if value is None:
        return "? s"
    number, prefix = with_prefix(float(value), digits, SMALL_PREFIXES)
    return f"{number} {prefix}s"


def percent(fraction: float | None) -> str:
    """A share: ``93%``, ``0.4%``, with at most two significant digits as the estimate allows."""
    if fraction is None:
        return "?%"
    value = Decimal(repr(float(fraction))) * 100
    step = Decimal(1) if abs(value) >= Decimal("0.95") else Decimal("0.1")
    rounded = value.quantize(step, rounding=ROUND_HALF_UP)
    if not rounded and value:
        return "<0.1%"
    return f"{plain(rounded)}%"


def number(value: float | None, digits: int = 3) -> str:
    """A pure number, plain up to a million and with a prefix above: ``31``, ``0.25``, ``1.5 M``."""
    if value is None:
        return "?"
    if isinstance(value, int) and abs(value) < 1_000_000:
        return str(value)
    if 0.001 <= abs(value) < 1_000_000:
        return plain(significant(Decimal(repr(float(value))), digits))
    return quantity(value, "", digits)


def bytes_(value: float | None) -> str:
    """``1.21 GB``; ``? B`` for what is not known."""
    return quantity(value, "B")
