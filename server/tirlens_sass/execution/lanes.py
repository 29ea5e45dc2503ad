"""Values of registers in many threads at once, each known or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Lanes:
    """A value of each thread: unsigned integers, 0 or 1 for predicates.

    `values` and `known` are arrays with an element a thread, or scalars for all threads. What is
    not known has any value.
    """

    values: Any
    known: Any = True

    @property
    def is_known(self) -> bool:
        """Whether all threads have a known value."""
        known = self.known
        return known if isinstance(known, bool) else bool(known.all())

    def merge(self, before: Lanes, mask: Any) -> Lanes:
        """This value in the threads of `mask`, `before` in the others."""
        return Lanes(where(mask, self.values, before.values), where(mask, self.known, before.known))


UNKNOWN = Lanes(np.uint64(0), False)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` in the threads of `condition`, `no` in the others."""
    return cast(Any, np.where(condition, yes, no))


def constant(value: int) -> Lanes:
    """The same known value in all threads, modulo 2^64."""
    return Lanes(np.uint64(value & 0xFFFFFFFFFFFFFFFF))


def as_signed(values: Any, bits: int = 32) -> Any:
    """Unsigned values of `bits` bits as signed integers of 64."""
    if bits == 64:
        return np.asarray(values, np.uint64).astype(np.int64)
    wide = np.asarray(values, np.uint64).astype(np.int64)
    return wide - ((wide >> (bits - 1)) << bits)


def as_unsigned(values: Any, bits: int = 32) -> Any:
    """Integers modulo 2^bits, as unsigned integers of 64 bits."""
    wide = np.asarray(values).astype(np.uint64)
    return wide if bits == 64 else wide & np.uint64(WORD)
