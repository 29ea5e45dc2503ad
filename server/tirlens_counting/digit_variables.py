"""Changes of variables that remove divisions and modulos.

An index like ``(bx * 1024 + tx) // 3136 % 64`` is a digit of one number.  Two steps make digits
variables of their own, so that expressions of different digits become independent:

* variables that occur only as a dense mixed-radix sum are replaced by that sum;
* a variable that is divided by ``c``, by ``c * d`` and so on becomes ``r + c * (s + d * t)``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from .expressions import (
    Expr,
    free_variables,
    from_linear,
    is_integer,
    linear,
    operands,
    operators,
    rebuild,
    substitute,
)
from .range_simplification import simplify_in_ranges

IntBox = Mapping[str, tuple[int, int]]
MAX_ROUNDS = 8
_DIVISIONS = frozenset({"//", "%"})
_Division = tuple[str, Expr, int]


@dataclass(frozen=True)
class VariableChange:
    """Expressions in new variables, equal point by point to the original ones.

    `conditions` restrict the points of `box`; without any all points count.  `projected` are the
    variables that replace projected ones.
    """

    box: IntBox
    exprs: tuple[Expr, ...]
    conditions: tuple[Expr, ...] = ()
    projected: frozenset[str] = frozenset()


def change_to_digits(
    box: IntBox, exprs: Sequence[Expr], projected: frozenset[str] = frozenset()
) -> VariableChange | None:
    """`exprs` with variables joined and split such that divisions disappear.

    None if that removes no division.  There is a bijection between the points of the old box and
    the points of the new box that satisfy the conditions, under which the expressions are equal.
    Projected variables are not joined with others.
    """
    number = len(_divisions(exprs))
    if not number:
        return None
    change = VariableChange(box, tuple(exprs), (), projected)
    for _ in range(MAX_ROUNDS):
        following = _join_variables(change) or _split_variable(change)
        if following is None:
            break
        change = following
    return change if len(_divisions(_all_expressions(change))) < number else None


def _divisions(exprs: Iterable[Expr]) -> dict[_Division, None]:
    """Operator, numerator and divisor of each division of integers by a constant, each once."""
    found: dict[_Division, None] = {}
    for expr in exprs:
        _collect_divisions(expr, found)
    return found


def _collect_divisions(expr: Expr, found: dict[_Division, None]) -> None:
    if not isinstance(expr, tuple) or operators(expr).isdisjoint(_DIVISIONS):
        return
    if expr[0] in _DIVISIONS and isinstance(expr[2], int) and expr[2] > 1:
        division = expr[0], expr[1], int(expr[2])
        if division in found:
            return
        if is_integer(expr[1]):
            found[division] = None
    for operand in operands(expr):
        _collect_divisions(operand, found)


def _all_expressions(change: VariableChange) -> tuple[Expr, ...]:
    return change.exprs + change.conditions


def _simplify_change(
    change: VariableChange, old: Collection[str], new: IntBox, exprs: Sequence[Expr], *more: Expr
) -> VariableChange:
    """`change` with `exprs`, simplified, over `new` variables instead of `old` ones."""
    box = {**{name: reach for name, reach in change.box.items() if name not in old}, **new}
    known: dict[Expr, Expr] = {}
    written = [
        expr if free_variables(expr).isdisjoint(new) else simplify_in_ranges(expr, box, known=known)
        for expr in exprs
    ]
    return _make_change(change, old, new, (*written, *more))


def _make_change(
    change: VariableChange, old: Collection[str], new: IntBox, exprs: Sequence[Expr]
) -> VariableChange:
    """`change` with `exprs` over `new` variables instead of `old` ones."""
    box = {**{name: reach for name, reach in change.box.items() if name not in old}, **new}
    projected = change.projected - set(old)
    if not change.projected.isdisjoint(old):
        projected = projected.union(new)
    number = len(change.exprs)
    conditions = tuple(condition for condition in exprs[number:] if condition is not True)
    return VariableChange(box, tuple(exprs[:number]), conditions, projected)


def _join_variables(change: VariableChange) -> VariableChange | None:
    """One dense sum of variables replaced by a variable."""
    tried: set[tuple[tuple[str, int], ...]] = set()
    everything = _all_expressions(change)
    for terms in _candidate_sums(everything):
        chain = _dense_chain(terms, change)
        if len(chain) < 2 or chain in tried:
            continue
        tried.add(chain)
        old = dict(chain)
        name = "+".join(sorted(old))
        replaced = [_replace_chain(item, old, name) for item in everything]
        if any(not free_variables(item).isdisjoint(old) for item in replaced):
            continue
        low, high = (
            sum(factor * change.box[variable][end] for variable, factor in chain) for end in (0, 1)
        )
        return _simplify_change(change, old, {name: (low, high)}, replaced)
    return None


def _candidate_sums(exprs: Iterable[Expr]) -> Iterator[Mapping[Expr, int]]:
    """The terms of sums in `exprs` that are divided, or compared at the top."""
    seen: dict[_Division, None] = {}
    for expr in exprs:
        if isinstance(expr, tuple) and expr[0] in ("<", "<=", ">", ">=", "=="):
            yield linear(("-", expr[1], expr[2]))[0]
        before = len(seen)
        _collect_divisions(expr, seen)
        for _, value, _ in islice(seen, before, None):
            yield linear(value)[0]


def _dense_chain(terms: Mapping[Expr, int], change: VariableChange) -> tuple[tuple[str, int], ...]:
    """The variables of a sum whose factors form a dense mixed-radix number, from factor 1."""
    factors = sorted(
        (factor, atom)
        for atom, factor in terms.items()
        if isinstance(atom, str) and atom in change.box and factor > 0
    )
    chain: list[tuple[str, int]] = []
    reach = 1
    for factor, name in factors:
        alike = not chain or (name in change.projected) == (chain[0][0] in change.projected)
        if factor == reach and alike:
            chain.append((name, factor))
            reach *= change.box[name][1] - change.box[name][0] + 1
    return tuple(chain)


def _replace_chain(expr: Expr, chain: Mapping[str, int], name: str) -> Expr:
    """`expr` with the sum ``chain`` written as `name` where possible.

    Whole multiples of a divisor are moved back into a division or modulo: ``33 * w + bx // 4`` is
    ``(132 * w + bx) // 4``.
    """
    if not isinstance(expr, tuple) or free_variables(expr).isdisjoint(chain):
        return expr
    op = expr[0]
    if op in ("load", "opaque"):
        return expr
    if op in ("//", "%") and isinstance(expr[2], int) and expr[2] > 0:
        return _replace_in_division(op, expr[1], int(expr[2]), chain, name)
    if op in ("+", "-", "*"):
        terms, constant = linear(expr)
        if terms != {expr: 1}:
            parts = [
                rebuild("*", (_replace_chain(atom, chain, name), f)) for atom, f in terms.items()
            ]
            return _gather_chain(rebuild("+", (*parts, constant)), chain, name)
    head = expr[:2] if op == "cast" else expr[:1]
    return head + tuple(_replace_chain(operand, chain, name) for operand in expr[len(head) :])


def _gather_chain(expr: Expr, chain: Mapping[str, int], name: str) -> Expr:
    """A sum with a multiple of the chain written as a multiple of `name`."""
    terms, constant = linear(expr)
    times = terms.get(next(iter(chain)), 0)
    if not times or any(terms.get(v, 0) != factor * times for v, factor in chain.items()):
        return expr
    rest = {atom: factor for atom, factor in terms.items() if atom not in chain}
    rest[name] = rest.get(name, 0) + times
    return from_linear(rest, constant)


def _replace_in_division(
    op: str, value: Expr, divisor: int, chain: Mapping[str, int], name: str
) -> Expr:
    value = _replace_chain(value, chain, name)
    terms, constant = linear(value)
    times = terms.get(next(iter(chain)), 0)
    missing = {v: factor * times - terms.get(v, 0) for v, factor in chain.items()}
    if times and not any(amount % divisor for amount in missing.values()):
        rest = {atom: factor for atom, factor in terms.items() if atom not in chain}
        rest[name] = rest.get(name, 0) + times
        value = from_linear(rest, constant)
    else:
        missing = {}
    division = rebuild(op, (value, divisor))
    if op == "%":
        return division
    back: dict[Expr, int] = {v: -amount // divisor for v, amount in missing.items()}
    return rebuild("+", (division, from_linear(back, 0)))


def _split_variable(change: VariableChange) -> VariableChange | None:
    """One variable written in digits of the radices that divide it."""
    everything = _all_expressions(change)
    radices: dict[str, set[int]] = {}
    for _, value, divisor in _divisions(everything):
        for name, radix in _division_radices(value, divisor):
            if name in change.box:
                radices.setdefault(name, set()).add(radix)
    for name, found in radices.items():
        low, high = change.box[name]
        length = high - low + 1
        ladder = [1]
        for radix in sorted(found):
            if radix % ladder[-1] == 0 and ladder[-1] < radix < length:
                ladder.append(radix)
        if len(ladder) > 1 and low == 0:
            return _write_digits(change, name, ladder)
        if len(ladder) > 1:
            shifted = f"{name} - {low}"
            exprs = [substitute(expr, {name: ("+", shifted, low)}) for expr in everything]
            return _simplify_change(change, (name,), {shifted: (0, length - 1)}, exprs)
    return None


def _write_digits(change: VariableChange, name: str, ladder: Sequence[int]) -> VariableChange:
    length = change.box[name][1] + 1
    box: dict[str, tuple[int, int]] = {}
    terms: dict[str, int] = {}
    for unit, following in pairwise((*ladder, math.inf)):
        digit = f"{name}/{unit}"
        size = -(-length // unit) if following == math.inf else following // unit
        box[digit] = (0, int(size) - 1)
        terms[digit] = int(unit)
    value = from_linear({**terms}, 0)
    tail = () if length % ladder[-1] == 0 else (("<", value, length),)
    known: dict[Expr, Expr] = {}
    exprs = [_read_digits(expr, name, terms, known) for expr in _all_expressions(change)]
    if all(free_variables(expr).isdisjoint((name,)) for expr in exprs):
        return _make_change(change, (name,), box, (*exprs, *tail))
    exprs = [substitute(expr, {name: value}) for expr in exprs]
    return _simplify_change(change, (name,), box, exprs, *tail)


def _read_digits(expr: Expr, name: str, units: Mapping[str, int], known: dict[Expr, Expr]) -> Expr:
    """`expr` with digits of a variable replaced by their names."""
    if not isinstance(expr, tuple) or name not in free_variables(expr):
        return expr
    found = known.get(expr)
    if found is None:
        reach = _digit_range(expr, name)
        digit = next((d for d, unit in units.items() if reach and unit == reach[0]), None)
        if reach and digit and reach[1] == _next_unit(digit, units):
            found = digit
        else:
            inner = tuple(_read_digits(part, name, units, known) for part in operands(expr))
            found = expr[: len(expr) - len(inner)] + inner
        known[expr] = found
    return found


def _next_unit(digit: str, units: Mapping[str, int]) -> float:
    """The unit of the digit above one."""
    return min((unit for unit in units.values() if unit > units[digit]), default=math.inf)


def _digit_range(expr: Expr, name: str) -> tuple[int, float] | None:
    """The first unit and end unit of the digits of a variable that `expr` selects, or None."""
    if not isinstance(expr, tuple):
        return (1, math.inf) if expr == name else None
    if expr[0] not in _DIVISIONS or not isinstance(expr[2], int) or expr[2] <= 0:
        return None
    inner = _digit_range(expr[1], name)
    if inner is None:
        return None
    unit, end = inner
    cut = unit * int(expr[2])
    if not math.isinf(end) and end % cut:
        return None
    return (cut, end) if expr[0] == "//" else (unit, min(cut, end))


def _division_radices(value: Expr, divisor: int) -> Iterator[tuple[str, int]]:
    """The radices in which ``value // divisor`` and ``value % divisor`` split their variables."""
    for atom, factor in linear(value)[0].items():
        radix = divisor // math.gcd(divisor, factor)
        if isinstance(atom, str):
            yield atom, radix
        elif isinstance(atom, tuple) and atom[0] in ("//", "%") and isinstance(atom[2], int):
            inner = int(atom[2])
            if inner > 0 and atom[0] == "//":
                yield from _division_radices(atom[1], inner * radix)
            elif inner > 0 and inner % radix == 0:
                yield from _division_radices(atom[1], radix)
