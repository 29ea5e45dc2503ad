"""Limits of the growth of a kernel's time and DRAM bytes, and the noise of the model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tirlens.model.report import KernelReport

_LIMIT = re.compile(r"((?P<name>time|dram)\s*=\s*)?(?P<percent>\d+(\.\d*)?|\.\d+)\s*%")


@dataclass(frozen=True)
class Limits:
    """The growth that is allowed, as a fraction of the former value; None for no limit."""

    time: float | None = None
    dram: float | None = None

    def __bool__(self) -> bool:
        return self != Limits()


def limits_of(texts: Iterable[str]) -> Limits:
    """The limits in ``5%``, ``time=5%`` and ``dram=2%``; one without a name is for both.

    Raises:
        ValueError: a text has none of these forms.
    """
    found: dict[str, float] = {}
    named: dict[str, float] = {}
    for text in texts:
        match = _LIMIT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no limit: expected 5%, time=5% or dram=2%")
        fraction = float(match["percent"]) / 100
        if match["name"]:
            named[match["name"]] = fraction
        else:
            found = {"time": fraction, "dram": fraction}
    return Limits(**{**found, **named})


def growth(before: float | None, now: float | None) -> float | None:
    """The growth from `before` to `now` as a fraction of `before`; None where it is unknown."""
    if before is None or now is None:
        return None
    if not before:
        return math.inf if now else 0.0
    return now / before - 1


def noise_s(before: KernelReport, now: KernelReport) -> float:
    """The part of the difference of two times that may be the model's error, in seconds.

    Both times come from one model on one device, so their errors (of the DRAM rate, of a launch, of
    a wait) are correlated.  They cancel as far as both times have the same amount of an
    uncertainty; the difference of the amounts remains.  The rates of two units are uncorrelated.
    """
    old_s, new_s = before.time_s or 0.0, now.time_s or 0.0
    errors: list[float] = []
    for part in {*before.uncertainty, *now.uncertainty}:
        old = before.uncertainty.get(part, 0.0) * old_s
        new = now.uncertainty.get(part, 0.0) * new_s
        alike = part != "rate" or _busiest(before) == _busiest(now)
        errors += [new - old] if alike else [new, old]
    return math.hypot(*errors)


def _busiest(kernel: KernelReport) -> str:
    return max(kernel.utilisation, key=lambda unit: kernel.utilisation[unit], default="")
