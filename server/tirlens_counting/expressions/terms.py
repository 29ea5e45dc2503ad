"""The structure of expressions: operands, variables, substitution, linear form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .expression import Expr
from .memoization import memoize

_NOTHING = frozenset[str]()
UNKNOWN_OPERATORS = frozenset({"load", "opaque"})


def walk(expr: Expr) -> tuple[Expr, ...]:
    """`expr` and every expression inside it, but not the names of casts, loads and opaques."""
    return _walk(expr) if isinstance(expr, tuple) else (expr,)


@lru_cache(maxsize=16384)
def _walk(expr: tuple[Any, ...]) -> tuple[Expr, ...]:
    return (expr, *(part for operand in operands(expr) for part in walk(operand)))


def loads(expr: Expr) -> tuple[tuple[Any, ...], ...]:
    """Every load in `expr`, those in the indices of others too."""
    if not isinstance(expr, tuple) or "load" not in _operators(expr):
        return ()
    return tuple(part for part in walk(expr) if isinstance(part, tuple) and part[0] == "load")


def operands(expr: tuple[Any, ...]) -> tuple[Expr, ...]:
    """The operands of an operation that are expressions themselves."""
    return expr[2:] if expr[0] in ("cast", "load", "opaque") else expr[1:]


@lru_cache(maxsize=16384)
def free_variables(expr: Expr) -> frozenset[str]:
    """The variables in `expr`."""
    if isinstance(expr, str):
        return frozenset((expr,))
    if not isinstance(expr, tuple):
        return _NOTHING
    return _NOTHING.union(*map(free_variables, operands(expr)))


def operators(expr: Expr) -> frozenset[str]:
    """The operators in `expr`."""
    return _operators(expr) if isinstance(expr, tuple) else _NOTHING


@lru_cache(maxsize=16384)
def _operators(expr: tuple[Any, ...]) -> frozenset[str]:
    return frozenset((expr[0],)).union(*map(operators, operands(expr)))


def is_data_dependent(expr: Expr) -> bool:
    """Whether a part of `expr` is not known before the run, whatever the bindings."""
    return isinstance(expr, tuple) and not _operators(expr).isdisjoint(UNKNOWN_OPERATORS)


def substitute(expr: Expr, env: Mapping[str, Expr]) -> Expr:
    """`expr` with the variables of `env` replaced, not simplified."""
    if isinstance(expr, str):
        return env.get(expr, expr)
    if not isinstance(expr, tuple) or free_variables(expr).isdisjoint(env):
        return expr
    inner = operands(expr)
    head = expr[: len(expr) - len(inner)]
    return head + tuple(substitute(operand, env) for operand in inner)


def linear(expr: Expr) -> tuple[Mapping[Expr, int], int]:
    """`expr` as ``sum(coefficient * atom) + constant`` with integer coefficients.

    Atoms are variables and whatever is not linear, as it stands.
    """
    if isinstance(expr, tuple):
        return _linear(expr)
    return ({}, int(expr)) if isinstance(expr, int) else ({expr: 1}, 0)


@memoize
def _linear(expr: tuple[Any, ...]) -> tuple[Mapping[Expr, int], int]:
    terms: dict[Expr, int] = {}
    constant = collect(expr, 1, terms)
    if all(terms.values()):
        return terms, constant
    return {atom: factor for atom, factor in terms.items() if factor}, constant


def collect(expr: Expr, factor: int, terms: dict[Expr, int]) -> int:
    """Add ``factor * expr``, which is simplified, to `terms`; return its constant part."""
    if isinstance(expr, tuple):
        op = expr[0]
        if op == "+":
            constant = 0
            for operand in expr[1:]:
                if isinstance(operand, str):
                    terms[operand] = terms.get(operand, 0) + factor
                elif isinstance(operand, int):
                    constant += factor * operand
                else:
                    constant += collect(operand, factor, terms)
            return constant
        if op == "*" and len(expr) == 3:
            _, left, right = expr
            if isinstance(right, int):
                if isinstance(left, str):
                    terms[left] = terms.get(left, 0) + factor * right
                    return 0
                return collect(left, factor * int(right), terms)
            if isinstance(left, int):
                return collect(right, factor * int(left), terms)
        elif op == "-":
            if len(expr) == 2:
                return collect(expr[1], -factor, terms)
            if len(expr) == 3:
                left = collect(expr[1], factor, terms)
                return left + collect(expr[2], -factor, terms)
    elif isinstance(expr, int):
        return factor * int(expr)
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
