"""Interval analysis of indices, which proves accesses to be inside their arrays."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from ...facts import Expr

Range = Tuple[Optional[int], Optional[int]]
_ANY: Range = (None, None)


class Ranges:
    """The constant intervals of loop variables."""

    def __init__(self) -> None:
        self._ranges: Dict[str, Range] = {}
        self._extents: Dict[str, Expr] = {}

    def add(self, name: str, start: Expr, extent: Expr, step: Expr = 1) -> None:
        """`name` runs over ``range(start, start + extent * step, step)``."""
        if start == 0 and step == 1:
            self._extents[name] = extent
        low, high = self.of(start)
        _, most = self.of(extent)
        if not isinstance(step, int) or step < 1 or high is None or most is None:
            self._ranges[name] = (low, None)
        else:
            self._ranges[name] = (low, high + max(most - 1, 0) * step)

    def of(self, value: Expr) -> Range:
        """The least and the largest value of an expression, None where not known."""
        if isinstance(value, (bool, int)):
            return int(value), int(value)
        if isinstance(value, str):
            return self._ranges.get(value, _ANY)
        if not isinstance(value, tuple) or len(value) != 3:
            return _ANY
        return _combine(value[0], self.of(value[1]), self.of(value[2]))

    def decide(self, condition: Expr) -> Optional[bool]:
        """Whether a comparison holds; None if the ranges of its operands do not decide it."""
        if isinstance(condition, (bool, int)):
            return bool(condition)
        if isinstance(condition, tuple) and condition[0] == "not":
            inner = self.decide(condition[1])
            return None if inner is None else not inner
        if not isinstance(condition, tuple) or len(condition) != 3:
            return None
        operator, left, right = condition
        if operator in ("==", "!="):
            (a, b), (c, d) = self.of(left), self.of(right)
            if self.decide(("<", left, right)) or self.decide(("<", right, left)):
                return operator == "!="
            return (operator == "==") if a is not None and a == b == c == d else None
        if operator in (">", ">="):
            operator, left, right = "<" if operator == ">" else "<=", right, left
        low, high = self.of(("-", left, right))
        if operator not in ("<", "<="):
            return None
        limit = 0 if operator == "<" else 1
        if high is not None and high < limit:
            return True
        return False if low is not None and low >= limit else None

    def below(self, index: Expr, size: Expr, lanes: int = 1) -> Optional[Expr]:
        """The condition under which `lanes` elements from `index` end before `size`.

        None if they always do.
        """
        _, high = self.of(index)
        least, _ = self.of(size)
        if isinstance(index, str) and self._extents.get(index) == size and lanes == 1:
            return None
        if high is not None and least is not None and high + lanes <= least:
            return None
        return ("<", index if lanes == 1 else ("+", index, lanes - 1), size)

    def clip(self, index: Expr, extent: Expr, size: Expr) -> Expr:
        """The number of indices in both ``range(index, index + extent)`` and ``range(size)``."""
        low, high = self.of(index)
        _, length = self.of(extent)
        least, _ = self.of(size)
        from_start = low is not None and low >= 0
        fits = None not in (high, length, least) and high + length <= least  # type: ignore[operator]
        if from_start and (fits or (index == 0 and extent == size)):
            return extent
        stop: Expr = extent if fits else ("min", extent, ("-", size, index))
        return ("max", 0, stop if from_start else ("-", stop, ("max", 0, ("-", 0, index))))


def _combine(operator: str, left: Range, right: Range) -> Range:
    (a, b), (c, d) = left, right
    if operator == "+":
        return (
            None if a is None or c is None else a + c,
            None if b is None or d is None else b + d,
        )
    if operator == "-":
        return (
            None if a is None or d is None else a - d,
            None if b is None or c is None else b - c,
        )
    if operator in ("min", "max"):
        return _chosen(operator, left, right)
    if operator == "*" and a is not None and b is not None and c is not None and d is not None:
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)
    if operator in ("//", "truncdiv") and c is not None and c == d and c > 0:
        if operator == "truncdiv" and (a is None or a < 0):
            return _ANY
        return (None if a is None else a // c, None if b is None else b // c)
    if operator in ("%", "truncmod") and c is not None and c == d and c > 0:
        if operator == "truncmod" and (a is None or a < 0):
            return _ANY
        whole = a is not None and b is not None and a >= 0 and b < c
        return left if whole else (0, c - 1)
    return _ANY


def _chosen(operator: str, left: Range, right: Range) -> Range:
    """The range of a minimum or a maximum, of which only one bound may be known."""
    (a, b), (c, d) = left, right
    if operator == "min":
        highs = [high for high in (b, d) if high is not None]
        return (None if a is None or c is None else min(a, c), min(highs) if highs else None)
    lows = [low for low in (a, c) if low is not None]
    return (max(lows) if lows else None, None if b is None or d is None else max(b, d))
