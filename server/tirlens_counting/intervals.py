"""Bounds of expressions over boxes of their variables.

A bound is an integer or an infinity; both ends are inclusive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from .expressions import Expr, linear, operands

INFINITY = math.inf
Bound = int | float
Interval = tuple[Bound, Bound]
EVERYTHING: Interval = (-INFINITY, INFINITY)
_BOOLEAN: Interval = (0, 1)
# Larger shifts are treated like this one.
_LONGEST_SHIFT = 63
_BY_CONSTANT = frozenset({"*", "//", "%"})


def bounds(expr: Expr, box: Mapping[str, Interval]) -> Interval:
    """An interval that contains `expr` wherever its variables are in `box`.

    What `box` does not name, and data, may have any value.
    """
    if not isinstance(expr, tuple):
        if isinstance(expr, str):
            return box.get(expr, EVERYTHING)
        return (expr, expr) if isinstance(expr, float) else (int(expr), int(expr))
    op = expr[0]
    if op in ("load", "opaque"):
        return EVERYTHING
    if op == "cast":
        return _cast(str(expr[1]), bounds(expr[2], box))
    if op in ("+", "-"):
        return _sum(expr, box)
    if op == "select":
        known = bounds(expr[1], box)
        if known == (1, 1):
            return bounds(expr[2], box)
        if known == (0, 0):
            return bounds(expr[3], box)
        return _hull(bounds(expr[2], box), bounds(expr[3], box))
    if op in _BY_CONSTANT and len(expr) == 3 and isinstance(expr[2], int) and expr[2] > 0:
        return _by_constant(op, bounds(expr[1], box), int(expr[2]))
    parts = [bounds(operand, box) for operand in operands(expr)]
    if op in ("and", "or", "not"):
        return _logic(op, parts)
    if len(parts) < 2:
        return EVERYTHING
    result = parts[0]
    for part in parts[1:]:
        result = _binary(op, result, part)
    return result


def largest_value(expr: Expr, box: Mapping[str, Interval], depth: int = 6) -> float:
    """An upper bound of `expr`, nearer than that of `bounds` for windows.

    In ``min(n, i + 6) - max(0, i - 5)`` each operand of a minimum, and of a maximum that is
    subtracted, gives an upper bound of its own. The variables cancel in one of them.
    """
    choices = _upper_choices(expr, 1) if depth else []
    # Equal minima cancel as they are, and not with an operand in the place of one.
    return min(
        [bounds(expr, box)[1], *(largest_value(choice, box, depth - 1) for choice in choices)]
    )


def _upper_choices(expr: Expr, sign: int) -> list[Expr]:
    """The expressions, none below `sign` times `expr`, with an operand of one minimum in its place.

    Maxima take the place of minima where `sign` is -1. Empty if there is none in the sum.
    """
    if not isinstance(expr, tuple):
        return []
    op = expr[0]
    if op == ("min" if sign > 0 else "max"):
        return list(operands(expr))
    if op not in ("+", "-"):
        return []
    terms = operands(expr)
    for position, term in enumerate(terms):
        is_subtracted = op == "-" and position > 0
        found = _upper_choices(term, -sign if is_subtracted else sign)
        if found:
            return [(op, *terms[:position], choice, *terms[position + 1 :]) for choice in found]
    return []


def _by_constant(op: str, value: Interval, constant: int) -> Interval:
    """A product with, or a division or modulo by, a positive constant: the usual case."""
    if op == "%":
        return _modulo(op, value, (constant, constant))
    low, high = value
    if op == "*":
        return low * constant, high * constant
    return _floordiv(low, constant), _floordiv(high, constant)


def linear_bounds(
    terms: Mapping[Expr, int], constant: int, box: Mapping[str, Interval]
) -> Interval:
    """Bounds of ``sum(coefficient * atom) + constant``."""
    low: Bound = constant
    high: Bound = constant
    for atom, factor in terms.items():
        known = isinstance(atom, str)
        least, most = box.get(atom, EVERYTHING) if known else bounds(atom, box)
        if factor < 0:
            least, most = most, least
        low += factor * least
        high += factor * most
    return low, high


def _sum(expr: Expr, box: Mapping[str, Interval]) -> Interval:
    # Collecting equal atoms first keeps ``x - x`` from widening.
    terms, constant = linear(expr)
    if len(terms) == 1 and expr in terms:
        return _difference(expr, box)
    return _of_terms(terms, constant, box)


def _of_terms(terms: Mapping[Expr, int], constant: int, box: Mapping[str, Interval]) -> Interval:
    """As `linear_bounds`, with ``min(a + 32, b) - a``, which is no more than 32 whatever ``a`` is.

    A sum with a minimum is the minimum of sums, in which terms may cancel: a window of
    ``max(0, i - 4)`` to ``i + 1`` has at most 5 elements.
    """
    low, high = linear_bounds(terms, constant, box)
    for atom, factor in terms.items():
        if not isinstance(atom, tuple) or atom[0] not in ("min", "max"):
            continue
        options = [linear(operand) for operand in operands(atom)]
        cancelled = {(own, -factor * times) for parts, _ in options for own, times in parts.items()}
        if cancelled.isdisjoint(terms.items()):
            continue
        sides = [
            _of_terms(_apply(terms, atom, parts), constant + factor * more, box)
            for parts, more in options
        ]
        choose = min if (atom[0] == "min") == (factor > 0) else max
        low = max(low, choose(side[0] for side in sides))
        high = min(high, choose(side[1] for side in sides))
    return low, high


def _apply(terms: Mapping[Expr, int], atom: Expr, parts: Mapping[Expr, int]) -> dict[Expr, int]:
    """`terms` with a sum of `parts` in the place of an atom."""
    out = {term: factor for term, factor in terms.items() if term != atom}
    for term, factor in parts.items():
        out[term] = out.get(term, 0) + terms[atom] * factor
    return {term: factor for term, factor in out.items() if factor}


def _difference(expr: Expr, box: Mapping[str, Interval]) -> Interval:
    """Bounds of ``a - b - c``, the only sum that `linear` does not divide into terms."""
    assert isinstance(expr, tuple)
    (low, high), *others = [bounds(operand, box) for operand in expr[1:]]
    for least, most in others:
        low, high = low - most, high - least
    return low, high


def _hull(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _cast(dtype: str, value: Interval) -> Interval:
    if dtype == "bool":
        return _BOOLEAN
    low, high = value
    if dtype.startswith("uint") and (low == -INFINITY or high == INFINITY):
        return max(0, low), high
    if dtype.startswith(("int", "uint")):
        return _truncate(low), _truncate(high)
    return value


def _truncate(value: Bound) -> Bound:
    return value if isinstance(value, float) and math.isinf(value) else int(value)


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b


def _floordiv(a: Bound, b: Bound) -> Bound:
    if isinstance(a, float) and math.isinf(a):
        return a if b > 0 else -a
    if isinstance(b, float) and math.isinf(b):
        return 0 if (a >= 0) == (b > 0) else -1
    return a // b


def _truncdiv(a: Bound, b: Bound) -> Bound:
    quotient = _floordiv(abs(a), abs(b))
    return -quotient if (a < 0) != (b < 0) else quotient


def _corners(function: Callable[[Bound, Bound], Bound], a: Interval, b: Interval) -> Interval:
    values = [function(x, y) for x in a for y in b]
    return min(values), max(values)


def _logic(op: str, parts: list[Interval]) -> Interval:
    truths = [(0 if low <= 0 <= high else 1, 0 if low == high == 0 else 1) for low, high in parts]
    if op == "not":
        return 1 - truths[0][1], 1 - truths[0][0]
    choose = min if op == "and" else max
    return choose(low for low, _ in truths), choose(high for _, high in truths)


def _compare(op: str, a: Interval, b: Interval) -> Interval:
    if op in (">", ">="):
        return _compare("<" if op == ">" else "<=", b, a)
    if op == "<":
        return (1, 1) if a[1] < b[0] else (0, 0) if a[0] >= b[1] else _BOOLEAN
    if op == "<=":
        return (1, 1) if a[1] <= b[0] else (0, 0) if a[0] > b[1] else _BOOLEAN
    same = a[0] == a[1] == b[0] == b[1]
    apart = a[1] < b[0] or b[1] < a[0]
    if op == "==":
        return (1, 1) if same else (0, 0) if apart else _BOOLEAN
    return (0, 0) if same else (1, 1) if apart else _BOOLEAN


def _modulo(op: str, a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return EVERYTHING
    if a[0] >= 0 and a[1] < b[0]:
        return a
    most = b[1] - 1
    if op == "%":
        if b[0] == b[1] and not math.isinf(a[0] + a[1]) and a[0] // b[0] == a[1] // b[0]:
            return a[0] % b[0], a[1] % b[0]
        return 0, most
    return (0 if a[0] >= 0 else max(-most, a[0])), (0 if a[1] <= 0 else min(most, a[1]))


def _bitwise(op: str, a: Interval, b: Interval) -> Interval:
    if any(map(math.isinf, (*a, *b))):
        return EVERYTHING
    if a[0] < 0 or b[0] < 0:
        if op not in ("&", "|", "^"):
            return EVERYTHING
        # As wide as the wider of the two in two's complement.
        wide = 1 << max((~int(x) if x < 0 else int(x)).bit_length() for x in (*a, *b))
        return -wide, wide - 1
    if op == "&":
        return 0, min(a[1], b[1])
    if op in ("|", "^"):
        return 0, (1 << max(int(a[1]).bit_length(), int(b[1]).bit_length())) - 1
    if op == "<<":
        most = int(a[1]) << int(b[1]) if b[1] <= _LONGEST_SHIFT else INFINITY
        return int(a[0]) << min(int(b[0]), _LONGEST_SHIFT), most
    if b[1] > _LONGEST_SHIFT:
        return EVERYTHING
    return int(a[0]) >> int(b[1]), int(a[1]) >> int(b[0])


def _binary(op: str, a: Interval, b: Interval) -> Interval:
    if op == "*":
        return _corners(_times, a, b)
    if op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if op in ("//", "truncdiv"):
        if b[0] <= 0 <= b[1]:
            return EVERYTHING
        return _corners(_floordiv if op == "//" else _truncdiv, a, b)
    if op in ("%", "truncmod"):
        return _modulo(op, a, b)
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return _compare(op, a, b)
    if op in ("&", "|", "^", "<<", ">>"):
        return _bitwise(op, a, b)
    return EVERYTHING
