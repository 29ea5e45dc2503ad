"""Expressions of facts: evaluate, substitute, simplify and print them.

The form is that of `tirlens_worker.facts`.  Arithmetic is Python's, so integers have any size and
`//` and `%` round down.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tirlens_worker.facts import Expr

Scalar = int | float | bool
Array = npt.NDArray[Any]

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
NEGATED = {"<": ">=", "<=": ">", "==": "!=", "!=": "==", ">": "<=", ">=": "<"}
UNKNOWN_OPERATORS = frozenset({"load", "opaque"})


class UnknownValueError(Exception):
    """A value that is not known before the run, or a variable that has no binding.

    `name` is the variable, or None where the value is data.
    """

    def __init__(self, expr: Expr) -> None:
        super().__init__(f"not known: {to_text(expr)}")
        self.name = expr if isinstance(expr, str) else None


def _truncdiv(a: Any, b: Any) -> Any:
    quotient = abs(a) // abs(b)
    if isinstance(quotient, np.ndarray):
        return np.where((a < 0) != (b < 0), -quotient, quotient)
    return -quotient if (a < 0) != (b < 0) else quotient


def _truncmod(a: Any, b: Any) -> Any:
    return a - b * _truncdiv(a, b)


def _is_array(*values: Any) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


def _minimum(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if _is_array(a, b) else min(a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if _is_array(a, b) else max(a, b)


def _and(a: Any, b: Any) -> Any:
    return np.logical_and(a, b) if _is_array(a, b) else bool(a) and bool(b)


def _or(a: Any, b: Any) -> Any:
    return np.logical_or(a, b) if _is_array(a, b) else bool(a) or bool(b)


def _subtract(a: Any, b: Any) -> Any:
    return a - b


# Each takes two operands; more are folded from the left.
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": _subtract,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": _minimum,
    "max": _maximum,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "and": _and,
    "or": _or,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    **_COMPARISONS,
}


def evaluate(expr: Expr, env: Mapping[str, Any]) -> Any:
    """The value of `expr` where `env` gives its variables numbers or numpy arrays.

    Raises:
        UnknownValueError: it depends on data or on a variable that `env` lacks.
    """
    if isinstance(expr, str):
        try:
            return env[expr]
        except KeyError:
            raise UnknownValueError(expr) from None
    if not isinstance(expr, tuple):
        return expr
    op = expr[0]
    if op in UNKNOWN_OPERATORS:
        raise UnknownValueError(expr)
    if op == "cast":
        return _cast(str(expr[1]), evaluate(expr[2], env))
    if op == "select":
        condition = evaluate(expr[1], env)
        if isinstance(condition, np.ndarray):
            return np.where(condition, evaluate(expr[2], env), evaluate(expr[3], env))
        return evaluate(expr[2] if condition else expr[3], env)
    values = [evaluate(operand, env) for operand in expr[1:]]
    if op == "not":
        return np.logical_not(values[0]) if _is_array(values[0]) else not values[0]
    if op == "~":
        return ~values[0]
    if op == "-" and len(values) == 1:
        return -values[0]
    try:
        return reduce(_BINARY[op], values)
    except (ZeroDivisionError, KeyError, TypeError, ValueError):
        raise UnknownValueError(expr) from None


def _cast(dtype: str, value: Any) -> Any:
    if dtype.startswith(("int", "uint")):
        if isinstance(value, np.ndarray):
            return value.astype(np.int64)
        return int(value)
    if dtype == "bool":
        return value != 0
    return value


def compile_expr(expr: Expr, args: Sequence[str]) -> Callable[..., Any]:
    """A function of `args`, in that order, which may be numbers or int64 arrays.

    It raises `UnknownValueError` as `evaluate` does.
    """
    names = tuple(args)

    def function(*values: Any) -> Any:
        return evaluate(expr, dict(zip(names, values, strict=True)))

    return function


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and every expression inside it, but not the names of casts, loads and opaques."""
    yield expr
    if isinstance(expr, tuple):
        for operand in operands(expr):
            yield from walk(operand)


def operands(expr: tuple[Any, ...]) -> tuple[Expr, ...]:
    """The operands of an operation that are expressions themselves."""
    if expr[0] == "opaque":
        return ()
    return expr[2:] if expr[0] in ("cast", "load") else expr[1:]


@lru_cache(maxsize=16384)
def free_variables(expr: Expr) -> frozenset[str]:
    """The variables in `expr`."""
    if isinstance(expr, str):
        return frozenset((expr,))
    if not isinstance(expr, tuple):
        return frozenset()
    return frozenset[str]().union(*map(free_variables, operands(expr)))


@lru_cache(maxsize=16384)
def is_data_dependent(expr: Expr) -> bool:
    """Whether a part of `expr` is not known before the run, whatever the bindings."""
    if not isinstance(expr, tuple):
        return False
    return expr[0] in UNKNOWN_OPERATORS or any(map(is_data_dependent, operands(expr)))


def substitute(expr: Expr, env: Mapping[str, Expr]) -> Expr:
    """`expr` with the variables of `env` replaced, not simplified."""
    if isinstance(expr, str):
        return env.get(expr, expr)
    if not isinstance(expr, tuple) or free_variables(expr).isdisjoint(env):
        return expr
    inner = operands(expr)
    head = expr[: len(expr) - len(inner)]
    return head + tuple(substitute(operand, env) for operand in inner)


def linear(expr: Expr) -> tuple[dict[Expr, int], int]:
    """`expr` as ``sum(coefficient * atom) + constant`` with integer coefficients.

    Atoms are variables and whatever is not linear, as it stands.
    """
    terms: dict[Expr, int] = {}
    constant = _collect(expr, 1, terms)
    return {atom: factor for atom, factor in terms.items() if factor}, constant


def _collect(expr: Expr, factor: int, terms: dict[Expr, int]) -> int:
    """Add ``factor * expr``, which is simplified, to `terms`; return its constant part."""
    if isinstance(expr, int):
        return factor * int(expr)
    if isinstance(expr, tuple):
        op = expr[0]
        if op == "+":
            return sum(_collect(operand, factor, terms) for operand in expr[1:])
        if op == "-" and len(expr) == 3:
            left = _collect(expr[1], factor, terms)
            return left + _collect(expr[2], -factor, terms)
        if op == "-":
            return _collect(expr[1], -factor, terms)
        if op == "*" and len(expr) == 3:
            for one, other in ((expr[1], expr[2]), (expr[2], expr[1])):
                if isinstance(one, int):
                    return _collect(other, factor * int(one), terms)
    terms[expr] = terms.get(expr, 0) + factor
    return 0


def from_linear(terms: Mapping[Expr, int], constant: int) -> Expr:
    """The expression ``sum(coefficient * atom) + constant``."""
    parts: list[Expr] = []
    for atom, factor in terms.items():
        if factor:
            parts.append(atom if factor == 1 else ("*", atom, factor))
    if constant or not parts:
        parts.append(constant)
    return parts[0] if len(parts) == 1 else ("+", *parts)


def simplify(expr: Expr) -> Expr:
    """An equal expression with constants folded and integer sums in linear form."""
    if not isinstance(expr, tuple):
        return expr
    op = expr[0]
    if op in UNKNOWN_OPERATORS:
        return expr
    if op == "cast":
        return _simplify_cast(expr[1], simplify(expr[2]))
    parts = tuple(simplify(operand) for operand in expr[1:])
    if not any(isinstance(part, (str, tuple)) for part in parts):
        try:
            return evaluate((op, *parts), {})
        except UnknownValueError:
            return (op, *parts)
    if op in ("+", "-", "*"):
        return _simplify_sum(op, parts)
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
    if op in _COMPARISONS and parts[0] == parts[1]:
        return bool(_COMPARISONS[op](0, 0))
    return (op, *parts)


def _simplify_cast(dtype: str, value: Expr) -> Expr:
    if isinstance(value, (int, float)):
        return _cast(dtype, value)
    # Index arithmetic does not overflow, so a change of integer width is no change of value.
    if dtype.startswith(("int", "uint")) and is_integer(value):
        return value
    return ("cast", dtype, value)


def is_integer(expr: Expr) -> bool:
    """Whether `expr` is surely an integer (variables are)."""
    if isinstance(expr, tuple):
        op = expr[0]
        if op == "cast":
            return str(expr[1]).startswith(("int", "uint"))
        if op == "select":
            return is_integer(expr[2]) and is_integer(expr[3])
        return op not in ("/", "load", "opaque") and all(map(is_integer, expr[1:]))
    return not isinstance(expr, float)


def _simplify_sum(op: str, parts: tuple[Expr, ...]) -> Expr:
    if op == "*":
        factor = 1
        others: list[Expr] = []
        for part in parts:
            if isinstance(part, int):
                factor *= int(part)
            else:
                others.append(part)
        if factor == 0:
            return 0
        if any(isinstance(part, float) for part in parts):
            return (op, *parts)
        if len(others) > 1:
            product = ("*", *others)
            return product if factor == 1 else ("*", product, factor)
        terms: dict[Expr, int] = {}
        constant = _collect(others[0], factor, terms)
        return from_linear(terms, constant)
    if any(isinstance(part, float) for part in parts):
        return (op, *parts)
    terms = {}
    constant = _collect((op, *parts), 1, terms)
    return from_linear(terms, constant)


def _simplify_division(op: str, value: Expr, divisor: int) -> Expr:
    """Whole multiples of the divisor leave a floor division and vanish from a modulo."""
    if divisor == 1 and is_integer(value):
        return value if op == "//" else 0
    if not is_integer(value):
        return (op, value, divisor)
    terms, constant = dict[Expr, int](), 0
    constant = _collect(value, 1, terms)
    whole = {a: f // divisor for a, f in terms.items() if f % divisor == 0}
    rest = {a: f for a, f in terms.items() if f % divisor}
    quotient, remainder = divmod(constant, divisor)
    if not rest:
        return from_linear(whole, quotient) if op == "//" else remainder
    inner = from_linear(rest, remainder)
    if op == "%":
        return (op, inner, divisor)
    # Nested floor divisions by constants are one.
    if isinstance(inner, tuple) and inner[0] == "//" and isinstance(inner[2], int) and inner[2] > 0:
        inner, divisor = inner[1], inner[2] * divisor
    divided: Expr = ("//", inner, divisor)
    if not whole and not quotient:
        return divided
    whole[divided] = whole.get(divided, 0) + 1
    return from_linear(whole, quotient)


def _simplify_extremum(op: str, parts: tuple[Expr, ...]) -> Expr:
    flat: list[Expr] = []
    constants: list[Scalar] = []
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
        return tuple(item for part in condition[1:] for item in conjuncts(part))
    return () if condition is True else (condition,)


_PRECEDENCE = {
    "or": 1, "and": 2, "not": 3, "<": 4, "<=": 4, "==": 4, "!=": 4, ">": 4, ">=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10,
    "%": 10, "~": 11,
}  # fmt: skip


def to_text(expr: Expr) -> str:
    """`expr` as Python would write it, with ``ceildiv`` where that is meant."""
    return _text(expr, 0)


def _text(expr: Expr, outer: int) -> str:
    if not isinstance(expr, tuple):
        return str(expr)
    op = expr[0]
    if op == "opaque":
        return str(expr[1])
    if op == "load":
        return f"{expr[1]}[{', '.join(_text(index, 0) for index in expr[2:])}]"
    if op == "cast":
        return f"{expr[1]}({_text(expr[2], 0)})"
    if op == "select":
        return f"select({', '.join(_text(part, 0) for part in expr[1:])})"
    ceiling = _ceildiv(expr)
    if ceiling is not None:
        return f"ceildiv({_text(ceiling[0], 0)}, {_text(ceiling[1], 0)})"
    if op not in _PRECEDENCE:
        return f"{op}({', '.join(_text(part, 0) for part in expr[1:])})"
    level = _PRECEDENCE[op]
    if len(expr) == 2:
        text = f"{op} " if op == "not" else op
        text += _text(expr[1], 11 if op != "not" else level)
    else:
        spaced = "*" if op == "*" else f" {op} "
        text = _text(expr[1], level) + "".join(
            _signed(part, level) if op == "+" else spaced + _text(part, level + 1)
            for part in expr[2:]
        )
    return f"({text})" if level < outer else text


def _signed(part: Expr, level: int) -> str:
    if isinstance(part, int) and part < 0:
        return f" - {-part}"
    if isinstance(part, tuple) and part[0] == "*" and isinstance(part[-1], int) and part[-1] < 0:
        factor = -part[-1]
        rest = part[:-1] if factor == 1 else (*part[:-1], factor)
        return " - " + _text(rest[1] if len(rest) == 2 else rest, level + 1)
    return " + " + _text(part, level + 1)


def _ceildiv(expr: tuple[Any, ...]) -> tuple[Expr, Expr] | None:
    """Numerator and divisor of ``(n + d - 1) // d`` with a constant `d`."""
    if expr[0] != "//" or not isinstance(expr[2], int):
        return None
    terms, constant = linear(expr[1])
    if not terms or constant != expr[2] - 1 or constant == 0:
        return None
    return from_linear(terms, 0), expr[2]
