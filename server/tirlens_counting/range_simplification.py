"""Simpler expressions by what is known of the ranges of their variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .expressions import (
    Expr,
    collect,
    from_linear,
    is_integer,
    linear,
    modulo,
    rebuild,
    simplify_cast,
    substitute,
)
from .intervals import EVERYTHING, Interval, bounds, linear_bounds

Box = Mapping[str, Interval]
Terms = Mapping[Expr, int]

_NOTHING: Mapping[str, Expr] = {}

_ROUND_DOWN = {"truncdiv": "//", "truncmod": "%"}
_ORDERS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def simplify_in_ranges(
    expr: Expr, box: Box, env: Mapping[str, Expr] = _NOTHING, known: dict[Expr, Expr] | None = None
) -> Expr:
    """A simpler expression that equals `expr` wherever its variables are in `box`.

    Divisions within one period and conditions that always hold become constants, divisions of
    mixed-radix sums are shortened, and operands that are never the minimum or maximum are removed.
    `env` has the simplified values of variables outside of the box.  `known` is a cache for the
    same box and environment, which the call extends.
    """
    return _simplify(expr, box, env, {} if known is None else known)


def _simplify(expr: Expr, box: Box, env: Mapping[str, Expr], known: dict[Expr, Expr]) -> Expr:
    if isinstance(expr, tuple):
        shorter = known.get(expr)
        if shorter is None:
            shorter = known[expr] = _simplify_operation(expr, box, env, known)
        return shorter
    if isinstance(expr, str):
        if expr in env:
            return env[expr]
        low, high = box.get(expr, EVERYTHING)
        return int(low) if low == high else expr
    return expr


def _simplify_operation(
    expr: tuple[Any, ...], box: Box, env: Mapping[str, Expr], known: dict[Expr, Expr]
) -> Expr:
    op = expr[0]
    if op in ("load", "opaque"):
        return substitute(expr, env)
    if op == "cast":
        return simplify_cast(expr[1], _simplify(expr[2], box, env, known))
    if op == "select":
        condition = _simplify(expr[1], box, env, known)
        if not isinstance(condition, (str, tuple)):
            return _simplify(expr[2] if condition else expr[3], box, env, known)
        sides = [_simplify(side, box, env, known) for side in expr[2:]]
        return rebuild(op, (condition, *sides))
    operands: tuple[Expr, ...] = expr[1:]
    parts: list[Expr] = []
    for part in operands:
        if isinstance(part, tuple):
            shorter = known.get(part)
            if shorter is None:
                shorter = known[part] = _simplify_operation(part, box, env, known)
            parts.append(shorter)
        elif isinstance(part, str):
            parts.append(_simplify(part, box, env, known))
        else:
            parts.append(part)
    return _apply_operator(op, tuple(parts), box)


def _apply_operator(op: str, parts: tuple[Expr, ...], box: Box) -> Expr:
    if op in ("+", "-"):
        return _recombine_division(rebuild(op, parts), box)
    if op in _ROUND_DOWN and bounds(parts[0], box)[0] >= 0 and bounds(parts[1], box)[0] > 0:
        op = _ROUND_DOWN[op]
    if op in (">>", "&"):
        shorter = rebuild(op, parts)
        if not isinstance(shorter, tuple) or shorter[0] not in ("//", "%"):
            return shorter
        op, parts = shorter[0], shorter[1:]
    if op == "//" or op == "%":
        value, divisor = parts
        if isinstance(divisor, int) and divisor > 0 and is_integer(value):
            return _divide(op, *linear(value), int(divisor), box)
    elif op in _ORDERS and is_integer(parts[0]) and is_integer(parts[1]):
        truth = _comparison_value(op, parts[0], parts[1], box)
        return (op, *parts) if truth is None else truth
    result = rebuild(op, parts)
    if isinstance(result, tuple) and result[0] in ("min", "max"):
        return _simplify_extremum(result, box)
    return result


def _recombine_division(expr: Expr, box: Box) -> Expr:
    """A sum in which a quotient and a remainder of one value are recombined.

    ``x // c * c + x % c`` is `x`, and ``x - x // c * c`` is ``x % c``.
    """
    if not _has_division(expr):
        return expr
    terms, constant = linear(expr)
    for atom in terms:
        if isinstance(atom, tuple) and atom[0] in ("//", "%"):
            op, value, divisor = atom
            if isinstance(divisor, int) and divisor > 0 and is_integer(value):
                merged = (
                    _add_remainder(terms, atom)
                    if op == "%"
                    else _subtract_quotient(terms, atom, box)
                )
                if merged is not None:
                    return _recombine_division(rebuild("+", (merged, constant)), box)
    return expr


def _add_remainder(terms: Terms, remainder: tuple[Any, ...]) -> Expr | None:
    """``x // c * c + x % c`` and what else `terms` sum up; None if there is no such quotient."""
    _, value, divisor = remainder
    factor, quotient = terms[remainder], ("//", value, divisor)
    if terms.get(quotient) != factor * divisor:
        return None
    rest = {atom: f for atom, f in terms.items() if atom not in (remainder, quotient)}
    return from_linear(rest, collect(value, factor, rest))


def _subtract_quotient(terms: Terms, quotient: tuple[Any, ...], box: Box) -> Expr | None:
    """``x - x // c * c`` and what else `terms` sum up; None if the rest does not hold ``x``."""
    _, value, divisor = quotient
    times, left = divmod(-terms[quotient], divisor)
    inside, constant = linear(value)
    if left or any(terms.get(atom) != times * factor for atom, factor in inside.items()):
        return None
    rest = {a: f for a, f in terms.items() if a != quotient and a not in inside}
    remainder = _divide("%", inside, constant, divisor, box)
    return from_linear(rest, collect(remainder, times, rest) - times * constant)


def _has_division(expr: Expr) -> bool:
    """Whether a term of a sum in linear form is a quotient or remainder, or a multiple of one."""
    if isinstance(expr, tuple) and expr[0] == "+":
        terms: tuple[Expr, ...] = expr[1:]
        for term in terms:
            if isinstance(term, tuple):
                atom: Expr = term[1] if term[0] == "*" else term
                if isinstance(atom, tuple) and atom[0] in ("//", "%"):
                    return True
    return False


def _divide(op: str, terms: Terms, constant: int, divisor: int, box: Box) -> Expr:
    """A linear form divided by, or modulo, `divisor`."""
    if op == "%":
        rest, remainder = modulo(terms, constant, divisor)
        return _shorten_division(op, rest, remainder, divisor, box) if rest else remainder
    whole = {atom: factor // divisor for atom, factor in terms.items() if factor % divisor == 0}
    rest = {atom: factor for atom, factor in terms.items() if factor % divisor}
    quotient, remainder = divmod(constant, divisor)
    if len(rest) == 1 and not remainder:
        ((inner, factor),) = rest.items()
        if factor == 1 and isinstance(inner, tuple) and inner[0] == "//":
            value, by = inner[1:]
            if isinstance(by, int) and by > 0:
                (rest, remainder), divisor = linear(value), by * divisor
    shorter = _shorten_division(op, rest, remainder, divisor, box)
    if not whole and not quotient:
        return shorter
    quotient += collect(shorter, 1, whole)
    return from_linear(whole, quotient)


def _shorten_division(op: str, terms: Terms, constant: int, divisor: int, box: Box) -> Expr:
    low, high = linear_bounds(terms, constant, box)
    if math.isfinite(low) and math.isfinite(high) and low // divisor == high // divisor:
        quotient = int(low // divisor)
        return quotient if op == "//" else from_linear(terms, constant - quotient * divisor)
    units = {math.gcd(factor, divisor) for factor in terms.values()} - {1, divisor}
    for unit in sorted(units, reverse=True):
        # Of unit * x + r, with r below the unit, only x matters to the quotient.
        small = {atom: factor for atom, factor in terms.items() if factor % unit}
        rest = constant % unit
        least, most = linear_bounds(small, rest, box)
        if least < 0 or most >= unit:
            continue
        large = {a: factor // unit for a, factor in terms.items() if not factor % unit}
        inner = _divide(op, large, constant // unit, divisor // unit, box)
        if op == "//":
            return inner
        return rebuild("+", (rebuild("*", (inner, unit)), from_linear(small, rest)))
    return (op, from_linear(terms, constant), divisor)


def _comparison_value(op: str, left: Expr, right: Expr, box: Box) -> bool | None:
    low, high = linear_bounds(*_difference(left, right), box)
    if op in ("==", "!="):
        if low > 0 or high < 0:
            return op == "!="
        return op == "==" if low == high == 0 else None
    if op in (">", ">="):
        low, high = -high, -low
    strict = op in ("<", ">")
    if high < 0 or (high == 0 and not strict):
        return True
    return False if low > 0 or (low == 0 and strict) else None


def _difference(one: Expr, other: Expr) -> tuple[Terms, int]:
    """``one - other`` in linear form."""
    if not isinstance(other, int):
        return linear(("-", one, other))
    terms, constant = linear(one)
    return terms, constant - other


def _simplify_extremum(expr: tuple[Any, ...], box: Box) -> Expr:
    """`expr` without the operands that another one is never above (min) or below (max)."""
    kept: list[Expr] = list(expr[1:])
    sign = 1 if expr[0] == "min" else -1
    if not all(map(is_integer, kept)):
        return expr
    for item in expr[1:]:
        others = [other for other in kept if other != item]
        if any(_is_never_above(other, item, sign, box) for other in others):
            kept.remove(item)
    return kept[0] if len(kept) == 1 else (expr[0], *kept)


def _is_never_above(one: Expr, other: Expr, sign: int, box: Box) -> bool:
    """Whether ``sign * one <= sign * other`` everywhere."""
    low, high = linear_bounds(*_difference(one, other), box)
    return high <= 0 if sign > 0 else low >= 0
