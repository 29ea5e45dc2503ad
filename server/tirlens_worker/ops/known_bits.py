"""Known-bits analysis: the bits of a value that are constant although the value is not."""

from __future__ import annotations

from typing import NamedTuple

from ..facts import Expr


class Bits(NamedTuple):
    """The known bits of a value: `known` is their mask; other bits of `value` are 0."""

    value: int
    known: int

    def knows(self, mask: int) -> bool:
        """Whether all bits of `mask` are known."""
        return self.known & mask == mask


_ALL = (1 << 64) - 1
_NOTHING = Bits(0, 0)


def known_bits(value: Expr) -> Bits:
    """The known bits among the lowest 64 bits of `value`."""
    if isinstance(value, int):
        return Bits(value & _ALL, _ALL)
    if not isinstance(value, tuple):
        return _NOTHING
    if value[0] == "~":
        inner = known_bits(value[1])
        return Bits(~inner.value & inner.known, inner.known)
    if value[0] == "%" and isinstance(value[2], int) and value[2] > 0:
        return Bits(0, _ALL & ~((1 << (value[2] - 1).bit_length()) - 1))
    if value[0] in ("<<", ">>") and isinstance(value[2], int):
        return _shift(known_bits(value[1]), value[2] if value[0] == "<<" else -value[2])
    if value[0] not in ("&", "|", "^"):
        return _NOTHING
    left, right = known_bits(value[1]), known_bits(value[2])
    both = left.known & right.known
    if value[0] == "^":
        return Bits((left.value ^ right.value) & both, both)
    if value[0] == "&":
        zeros = (left.known & ~left.value) | (right.known & ~right.value)
        return Bits(left.value & right.value, both | zeros)
    ones = left.value | right.value
    return Bits(ones, both | ones)


def _shift(bits: Bits, by: int) -> Bits:
    if by >= 0:
        filled = (1 << by) - 1
        return Bits(bits.value << by & _ALL, (bits.known << by | filled) & _ALL)
    # The bits shifted in are 0.
    filled = _ALL & ~(_ALL >> -by)
    return Bits(bits.value >> -by, bits.known >> -by | filled)
