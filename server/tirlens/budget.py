"""Budgets of kernels as users write them: ``max-time=120us``, ``max-dram=1.2GB``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_AMOUNT = re.compile(r"\s*(?P<number>\d+(\.\d*)?|\.\d+)\s*(?P<unit>[A-Za-z]*)\s*")
_TIMES: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BYTES: Mapping[str, float] = {
    "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """The greatest time and DRAM traffic of one launch; None where there is no limit."""

    time_s: float | None = None
    dram_bytes: float | None = None

    def __bool__(self) -> bool:
        return self != NO_BUDGET

    def merge(self, nearer: Budget) -> Budget:
        """This budget, overridden by the limits of `nearer`."""
        return Budget(
            self.time_s if nearer.time_s is None else nearer.time_s,
            self.dram_bytes if nearer.dram_bytes is None else nearer.dram_bytes,
        )


NO_BUDGET = Budget()
NAMES = ("max-time", "max-dram")


def budget_of(mapping: Mapping[str, Any]) -> Budget:
    """The budget that the entries ``max-time`` and ``max-dram`` state.

    Raises:
        ValueError: there are other entries, or a value is no amount of its kind.
    """
    for name, value in mapping.items():
        if name not in NAMES or not isinstance(value, str):
            raise ValueError("expected max-time, such as '120us', or max-dram, such as '1.2GB'")
    time, dram = (mapping.get(name) for name in NAMES)
    return Budget(None if time is None else seconds(time), None if dram is None else bytes_(dram))


def seconds(text: str) -> float:
    """The duration ``120us`` or ``1.5 ms`` in seconds.

    Raises:
        ValueError: `text` is no duration.
    """
    return _amount(text, _TIMES, "a time such as 120us")


def bytes_(text: str) -> float:
    """The number of bytes in ``1.2GB`` (10^9) or ``512KiB`` (2^10).

    Raises:
        ValueError: `text` is no amount of bytes.
    """
    return _amount(text, _BYTES, "an amount of bytes such as 1.2GB")


def _amount(text: str, units: Mapping[str, float], expected: str) -> float:
    match = _AMOUNT.fullmatch(text)
    amount = math.inf
    if match is not None and match["unit"] in units:
        amount = float(match["number"]) * units[match["unit"]]
    if amount == math.inf:
        raise ValueError(f"{text[:80]!r} is not {expected}")
    return amount
