"""Equal but simpler expressions: constants folded, sums linear, negations pushed inwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .evaluation import COMPARISONS, UnknownValueError, cast, evaluate
from .expression import Expr
from .memoization import memoize
from .terms import UNKNOWN_OPERATORS, collect, from_linear

NEGATED = {"<": ">=", "<=": ">", "==": "!=", "!=": "==", ">": "<=", ">=": "<"}


def simplify(expr: Expr) -> Expr:
    """An equal expression with constants folded and integer sums in linear form."""
    return _simplify_operation(expr) if isinstance(expr, tuple) else expr


@memoize
def _simplify_operation(expr: tuple[Any, ...]) -> Expr:
    op = expr[0]
    if op in UNKNOWN_OPERATORS:
        return expr
    if op == "cast":
        return simplify_cast(expr[1], simplify(expr[2]))
    parts: tuple[Expr, ...] = expr[1:]
    return rebuild(op, tuple([simplify(p) if isinstance(p, tuple) else p for p in parts]))


def rebuild(op: str, parts: tuple[Expr, ...]) -> Expr:
    """The operation `op`, none of those with names among their operands, on simplified operands."""
    for part in parts:
        if isinstance(part, (str, tuple)):
            break
    else:
        return _fold(op, parts)
    if op == "+" or op == "-":
        return _sum(op, parts)
    if op in ("&", ">>", "<<") and len(parts) == 2:
        op, parts = _arithmetic(op, parts[0], parts[1])
    if op == "*":
        return _product(parts)
    if op in ("//", "%") and isinstance(parts[1], int) and parts[1] > 0:
        return _simplify_division(op, parts[0], int(parts[1]))
    if op in ("min", "max"):
        return _simplify_extremum(op, parts)
    if op in ("and", "or"):
        return _simplify_logic(op, parts)
    if op == "not":
        return negate(parts[0])
    if op == "select":
        if not isinstance(parts[0], (str, tuple)):
            return parts[1] if parts[0] else parts[2]
        if parts[1] == parts[2]:
            return parts[1]
    if op in COMPARISONS and parts[0] == parts[1]:
        return bool(COMPARISONS[op](0, 0))
    return (op, *parts)


def _fold(op: str, numbers: tuple[Expr, ...]) -> Expr:
    try:
        return evaluate((op, *numbers), {})
    except UnknownValueError:
        return (op, *numbers)


# What `collect` takes apart.
_LINEAR = frozenset({"+", "-", "*"})
# Shifts by more bits than a word has are no index arithmetic.
_WIDEST_SHIFT = 62


def _arithmetic(op: str, value: Expr, other: Expr) -> tuple[str, tuple[Expr, ...]]:
    """Shifts and masks of low bits as arithmetic, which is the same for integers of either sign."""
    if isinstance(other, int) and not isinstance(other, bool) and is_integer(value):
        if op == ">>" and 0 <= other <= _WIDEST_SHIFT:
            return "//", (value, 1 << other)
        if op == "<<" and 0 <= other <= _WIDEST_SHIFT:
            return "*", (value, 1 << other)
        if op == "&" and other > 0 and other & (other + 1) == 0:
            return "%", (value, other + 1)
    return op, (value, other)


def simplify_cast(dtype: str, value: Expr) -> Expr:
    """A cast of a simplified value."""
    if isinstance(value, (int, float)):
        return cast(dtype, value)
    # Index arithmetic does not overflow, so a change of integer width is no change of value.
    if dtype.startswith(("int", "uint")) and is_integer(value):
        return value
    return ("cast", dtype, value)


def is_integer(expr: Expr) -> bool:
    """Whether `expr` is surely an integer (variables are)."""
    return _is_integer(expr) if isinstance(expr, tuple) else not isinstance(expr, float)


@memoize
def _is_integer(expr: tuple[Any, ...]) -> bool:
    op = expr[0]
    if op == "cast":
        return str(expr[1]).startswith(("int", "uint"))
    if op == "select":
        return is_integer(expr[2]) and is_integer(expr[3])
    return op not in ("/", "load", "opaque") and all(map(is_integer, expr[1:]))


def _product(parts: tuple[Expr, ...]) -> Expr:
    factor = 1
    others: list[Expr] = []
    for part in parts:
        if isinstance(part, int):
            factor *= int(part)
        else:
            others.append(part)
    if factor == 0:
        return 0
    for part in others:
        if isinstance(part, float):
            return ("*", *parts)
    if len(others) > 1:
        product = ("*", *others)
        return product if factor == 1 else ("*", product, factor)
    (other,) = others
    if isinstance(other, str) or other[0] not in _LINEAR:  # type: ignore[index]
        return other if factor == 1 else ("*", other, factor)
    terms: dict[Expr, int] = {}
    constant = collect(other, factor, terms)
    return from_linear(terms, constant)


def _sum(op: str, parts: tuple[Expr, ...]) -> Expr:
    for part in parts:
        if isinstance(part, float):
            return (op, *parts)
    terms: dict[Expr, int] = {}
    constant = 0
    if op == "+":
        for part in parts:
            constant += collect(part, 1, terms)
    else:
        constant = collect((op, *parts), 1, terms)
    return from_linear(terms, constant)


def _simplify_division(op: str, value: Expr, divisor: int) -> Expr:
    """Whole multiples of the divisor leave a floor division and vanish from a modulo."""
    if divisor == 1 and is_integer(value):
        return value if op == "//" else 0
    if not is_integer(value):
        return (op, value, divisor)
    terms: dict[Expr, int] = {}
    constant = collect(value, 1, terms)
    if op == "%":
        rest, remainder = modulo(terms, constant, divisor)
        return (op, from_linear(rest, remainder), divisor) if rest else remainder
    whole = {a: f // divisor for a, f in terms.items() if f % divisor == 0}
    rest = {a: f for a, f in terms.items() if f % divisor}
    quotient, remainder = divmod(constant, divisor)
    if not rest:
        return from_linear(whole, quotient)
    inner = from_linear(rest, remainder)
    # Nested floor divisions by constants are one.
    if isinstance(inner, tuple) and inner[0] == "//" and isinstance(inner[2], int) and inner[2] > 0:
        inner, divisor = inner[1], inner[2] * divisor
    divided: Expr = ("//", inner, divisor)
    if not whole and not quotient:
        return divided
    whole[divided] = whole.get(divided, 0) + 1
    return from_linear(whole, quotient)


def modulo(terms: Mapping[Expr, int], constant: int, divisor: int) -> tuple[dict[Expr, int], int]:
    """A shorter linear form that is equal modulo `divisor`: without its multiples.

    Of ``f * (x % c)`` is left ``f * x`` if it may.
    """
    plain: dict[Expr, int] = {}
    for atom, factor in terms.items():
        period = atom[2] if isinstance(atom, tuple) and atom[0] == "%" else None
        if isinstance(period, int) and period > 0 and factor * period % divisor == 0:
            assert isinstance(atom, tuple)
            constant += collect(atom[1], factor, plain)
        else:
            plain[atom] = plain.get(atom, 0) + factor
    return {atom: f for atom, f in plain.items() if f % divisor}, constant % divisor


def _simplify_extremum(op: str, parts: tuple[Expr, ...]) -> Expr:
    flat: list[Expr] = []
    constants: list[int | float] = []
    for part in parts:
        inner = part[1:] if isinstance(part, tuple) and part[0] == op else (part,)
        for item in inner:
            if isinstance(item, (int, float)):
                constants.append(item)
            elif item not in flat:
                flat.append(item)
    if constants:
        flat.append(min(constants) if op == "min" else max(constants))
    return flat[0] if len(flat) == 1 else (op, *flat)


def _simplify_logic(op: str, parts: tuple[Expr, ...]) -> Expr:
    neutral = op == "and"
    flat: list[Expr] = []
    for part in parts:
        inner = part[1:] if isinstance(part, tuple) and part[0] == op else (part,)
        for item in inner:
            if isinstance(item, (int, float)):
                if bool(item) is not neutral:
                    return not neutral
            elif item not in flat:
                flat.append(item)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else (op, *flat)


def negate(condition: Expr) -> Expr:
    """The opposite of a condition, with the negation pushed to the comparisons."""
    if isinstance(condition, tuple):
        op = condition[0]
        if op in NEGATED:
            return (NEGATED[op], *condition[1:])
        if op == "not":
            return condition[1]
        if op in ("and", "or"):
            parts = tuple(map(negate, condition[1:]))
            return _simplify_logic("or" if op == "and" else "and", parts)
        return ("not", condition)
    if isinstance(condition, str):
        return ("not", condition)
    return not condition


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The conditions that must all hold for `condition` to hold."""
    condition = simplify(condition)
    if isinstance(condition, tuple) and condition[0] == "and":
        return condition[1:]
    return () if condition is True else (condition,)
