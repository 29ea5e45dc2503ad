"""Comparisons of integers: what the flags hold, and for how many iterations a result repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Comparison(NamedTuple):
    """What the flags hold: the operands of a comparison (unsigned), of so many bits.

    `is_result`: `left` is the result of arithmetic, whose carry is unknown.
    """

    left: int
    right: int
    bits: int
    is_result: bool = False


def to_signed(value: int, bits: int) -> int:
    """The signed integer of so many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def holds(name: str, flags: Comparison) -> bool | None:
    """Whether a condition holds after a comparison; None if it is unknown or not understood."""
    left, right, bits, is_result = flags
    known = _EQUALITY.get(name)
    if known is not None:
        return known(left, right)
    if name in _SIGNED:
        return _SIGNED[name](to_signed(left, bits), to_signed(right, bits))
    if name in _UNSIGNED and not is_result:
        return _UNSIGNED[name](left, right)
    if name in ("s", "ns"):
        return (to_signed(left - right, bits) < 0) == (name == "s")
    return None


_Test = Callable[[int, int], bool]
_EQUALITY: dict[str, _Test] = {
    "e": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
}
_SIGNED: dict[str, _Test] = {
    "l": lambda left, right: left < right,
    "ge": lambda left, right: left >= right,
    "le": lambda left, right: left <= right,
    "g": lambda left, right: left > right,
}
_UNSIGNED: dict[str, _Test] = {
    "b": lambda left, right: left < right,
    "ae": lambda left, right: left >= right,
    "be": lambda left, right: left <= right,
    "a": lambda left, right: left > right,
}


CONDITIONS = frozenset({*_EQUALITY, *_SIGNED, *_UNSIGNED, "s", "ns"})


def repetitions(name: str, before: Comparison, now: Comparison, taken: bool) -> int | None:
    """Further iterations in which a comparison has the same result; None: in all of them.

    Its operands change from `before` to `now` by the same amounts as in each iteration.
    """
    bits = now.bits
    left_step = to_signed(now.left - before.left, bits)
    right_step = to_signed(now.right - before.right, bits)
    if not left_step and not right_step:
        return None
    if name in ("e", "ne"):
        is_equal = (name == "e") == taken
        step = left_step - right_step
        if is_equal:
            return 0 if step else None
        distance = to_signed(now.left - now.right, bits)
        if step and distance % step == 0 and -distance // step > 0:
            return -distance // step - 1
        return None
    is_signed = name in ("l", "ge", "le", "g", "s", "ns")
    left, right = ((to_signed(one, bits) if is_signed else one) for one in (now.left, now.right))

    def lasts(number: int) -> bool:
        later = Comparison(left + number * left_step, right + number * right_step, bits)
        if is_signed:
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        else:
            low, high = 0, (1 << bits) - 1
        if not (low <= later.left <= high and low <= later.right <= high):
            return False
        return holds(name, later) == taken

    least, most = 0, 1
    while lasts(most):
        least, most = most, 2 * most
        if most > 1 << 62:
            return None
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if lasts(middle) else (least, middle)
    return least
