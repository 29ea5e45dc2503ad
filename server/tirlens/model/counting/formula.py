"""Totals as formulas in the free shape variables, equal to the count at every binding.

Understood are boxes, tails (``io * T + ii < N`` with ``ceildiv(N, T)`` tiles), clipped tiles,
extents that depend on loops around them (see `formula_sums`), and whatever does not depend on shape
variables.  Anything else has no formula.  Shape variables are sizes, so never negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee
from typing import NamedTuple

from tirlens_worker.facts import Access, Branch, Expr, KernelFacts, Let, Loop, Node, Statement

from ..classes import totals
from ..dtypes import bits
from ..expr import (
    conjuncts,
    free_variables,
    is_data_dependent,
    negate,
    simplify,
    substitute,
    walk,
)
from .formula_sums import never_negative, sum_over_axis
from .guards import guard
from .intervals import Interval, bounds
from .polynomial import Polynomial
from .problem import problem
from .solve import Solver

Weights = tuple[Expr, ...]
# What a formula consists of, besides variables and numbers.
_READABLE = frozenset({"+", "-", "*", "//", "%", "min", "max", "sum"})


class NoFormulaError(Exception):
    """The total is no formula of the kind that is understood."""


def _is_readable(part: Expr) -> bool:
    if not isinstance(part, tuple):
        return True
    return part[0] in _READABLE and (part[0] not in ("//", "%") or isinstance(part[2], int))


@dataclass(frozen=True)
class _Scope:
    """Loops with their extents (from zero), conditions and what names stand for, so far."""

    axes: Mapping[str, Expr]
    threads: frozenset[str]
    conditions: tuple[Expr, ...]
    env: Mapping[str, Expr]
    # What expressions are with `env`.
    known: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr], repr=False, compare=False)

    def resolve(self, expr: Expr) -> Expr:
        if not isinstance(expr, tuple):
            return simplify(substitute(expr, self.env))
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = simplify(substitute(expr, self.env))
        return found

    def where(self, condition: Expr | None) -> _Scope:
        if condition is None:
            return self
        return replace(self, conditions=(*self.conditions, *conjuncts(self.resolve(condition))))

    def points(self, node: Statement, weights: Weights) -> _Points:
        """The points at which a statement runs, and what each weighs."""
        if node.per not in ("thread", "block"):
            raise NoFormulaError
        merged = self.threads if node.per == "block" else frozenset[str]()
        axes = tuple(item for item in self.axes.items() if item[0] not in merged)
        return _Points(axes, self.conditions, weights)


class _Points(NamedTuple):
    """Loops with their extents, conditions, and the product that is summed up."""

    axes: tuple[tuple[str, Expr], ...]
    conditions: tuple[Expr, ...]
    weights: Weights


# The points of each part of a statement, and by what they are multiplied.
OfStatement = Callable[[Statement, _Scope], Iterator[tuple[_Scope, Weights, int]]]


class Formulas:
    """The formulas of one kernel: its statements are placed, and like points summed up, once."""

    def __init__(self, facts: KernelFacts) -> None:
        self._facts = facts
        # A formula that does not exist is often told by the first statements.
        self._placed = tee(_placed(facts))
        self._points: dict[_Points, Polynomial] = {}

    def flop(self) -> str | None:
        """FLOP of the whole launch, such as ``2*M*N*K``; None if there is no formula."""
        return self._formula(self._placed[0], _flop())

    def global_bytes(self) -> str | None:
        """Bytes of global memory that the program reads and writes; None without a formula."""
        return self._formula(self._placed[1], _global_bytes(self._facts))

    def _formula(
        self,
        placed: Iterable[tuple[Statement, _Scope] | None],
        of_statement: OfStatement,
    ) -> str | None:
        if not self._facts.variables:
            return None
        times: dict[_Points, int] = {}
        total = Polynomial.of(0)
        try:
            for place in placed:
                if place is None:
                    raise NoFormulaError
                for inner, weights, factor in of_statement(*place):
                    points = inner.points(place[0], weights)
                    if points not in self._points:
                        self._points[points] = _counted(points, self._facts)
                    times[points] = times.get(points, 0) + factor
            for points, factor in times.items():
                total = total + self._points[points] * Polynomial.of(factor)
        except NoFormulaError:
            return None
        return total.text([variable.name for variable in self._facts.variables])


def _flop() -> OfStatement:
    known: dict[tuple[str, str, bool, int], int] = {}

    def of_statement(node: Statement, scope: _Scope) -> Iterator[tuple[_Scope, Weights, int]]:
        for item in node.arith:
            kind = item.op, item.dtype, item.index, item.sparsity
            if kind not in known:
                known[kind] = totals([(item, item.sparsity)]).flop
            if known[kind]:
                if item.sparsity != 1:
                    raise NoFormulaError
                yield scope.where(item.guard), (scope.resolve(item.count),), known[kind]

    return of_statement


def _global_bytes(facts: KernelFacts) -> OfStatement:
    buffers = {item.id: item for item in facts.buffers}

    def of_statement(node: Statement, scope: _Scope) -> Iterator[tuple[_Scope, Weights, int]]:
        for item in node.accesses:
            buffer = buffers[item.buffer]
            if buffer.scope != "global":
                continue
            width = bits(buffer.dtype)
            if width is None or width % 8:
                raise NoFormulaError
            inner, lengths = _box(item, buffer.shape, scope.where(item.guard))
            times = 2 if item.mode == "atomic" else 1
            yield inner, lengths, times * width // 8 * item.lanes

    return of_statement


def _placed(facts: KernelFacts) -> Iterator[tuple[Statement, _Scope] | None]:
    """Each statement with its scope, None where it is not known how often any runs."""
    try:
        yield from _statements(facts.body, _Scope({}, frozenset(), (), {}))
    except Exception:  # neither formula can be made, and both end here
        yield None


def _statements(nodes: Sequence[Node], scope: _Scope) -> Iterator[tuple[Statement, _Scope] | None]:
    for node in nodes:
        if isinstance(node, Statement):
            yield node, scope
        elif isinstance(node, Let):
            env = {**scope.env, node.var: scope.resolve(node.value)}
            scope = replace(scope, env=env, known={})
        elif isinstance(node, Loop):
            yield from _statements(node.body, _enter(node, scope))
        elif isinstance(node, Branch):
            yield from _statements(node.then, scope.where(node.condition))
            opposite = negate(scope.resolve(node.condition))
            yield from _statements(node.orelse, scope.where(opposite))
        elif any(True for _ in _statements(node.body, scope)):
            yield None


def _enter(node: Loop, scope: _Scope) -> _Scope:
    start, step = scope.resolve(node.start), scope.resolve(node.step)
    env = {name: value for name, value in scope.env.items() if name != node.var}
    if start != 0 or step != 1:
        env[node.var] = simplify(("+", start, ("*", step, node.var)))
    return _Scope(
        {**scope.axes, node.var: scope.resolve(node.extent)},
        scope.threads | {node.var} if node.kind == "block" else scope.threads,
        scope.conditions,
        env,
    )


def _box(item: Access, shape: Sequence[Expr], scope: _Scope) -> tuple[_Scope, tuple[Expr, ...]]:
    """The scope with an axis for each dimension that is clipped, and the other sizes."""
    lengths: list[Expr] = []
    for axis, size in enumerate(item.extents):
        extent = scope.resolve(size)
        index = scope.resolve(item.indices[axis])
        if not item.clipped:
            lengths.append(extent)
            continue
        if item.lanes != 1:
            raise NoFormulaError
        name = f"element {axis}"
        scope = replace(scope, axes={**scope.axes, name: extent})
        position = simplify(("+", index, name))
        scope = scope.where(("and", (">=", position, 0), ("<", position, shape[axis])))
    return scope, tuple(lengths)


def _counted(points: _Points, facts: KernelFacts) -> Polynomial:
    """The number of the points, weighted."""
    axes = dict(points.axes)
    box: dict[str, Interval] = {variable.name: (0, math.inf) for variable in facts.variables}
    for name, extent in axes.items():
        if not never_negative(extent, axes, box):
            axes[name] = extent = ("max", 0, extent)
        box[name] = (0, bounds(extent, box)[1] - 1)
    conditions = [item for item in points.conditions if bounds(item, box)[0] < 1]
    return _product(axes, box, conditions, list(points.weights))


def _product(
    axes: dict[str, Expr],
    box: Mapping[str, Interval],
    conditions: list[Expr],
    weights: list[Expr],
) -> Polynomial:
    """Take the axes that are tied by a condition apart, then multiply."""
    total = Polynomial.of(1)
    while conditions:
        condition = conditions.pop(0)
        names = free_variables(condition) & set(axes)
        if is_data_dependent(condition):
            raise NoFormulaError
        others = [*conditions, *weights, *axes.values()]
        if any(names & free_variables(other) for other in others):
            total = total * _numeric(names, axes, conditions, condition, weights)
            continue
        total = total * _tied(condition, names, axes, box)
        for name in names:
            del axes[name]
    return total * Polynomial.of(_summed(axes, box, weights))


def _summed(axes: dict[str, Expr], box: Mapping[str, Interval], weights: Sequence[Expr]) -> Expr:
    """The sum over `axes`, whose extents may depend on those before, of the product of weights."""
    for weight in weights:
        if is_data_dependent(weight) or not free_variables(weight) <= box.keys():
            raise NoFormulaError
        if not never_negative(weight, axes, box):
            raise NoFormulaError
    pending = list(weights)
    for name, extent in reversed(axes.items()):
        if is_data_dependent(extent) or not free_variables(extent) <= box.keys():
            raise NoFormulaError
        mine = [factor for factor in pending if name in free_variables(factor)]
        pending = [factor for factor in pending if name not in free_variables(factor)]
        if mine:
            if not name.isidentifier():
                raise NoFormulaError
            pending.append(sum_over_axis(name, mine, axes, box))
        else:
            pending.append(extent)
    result = simplify(("*", 1, *pending))
    if not all(map(_is_readable, walk(result))):
        raise NoFormulaError
    return result


def _tied(
    condition: Expr, names: frozenset[str], axes: Mapping[str, Expr], box: Mapping[str, Interval]
) -> Polynomial:
    """The number of points of `names` for which `condition` holds."""
    tail = _tail(condition, names, axes)
    if tail is not None:
        if bounds(tail, box)[0] < 0:
            raise NoFormulaError
        return Polynomial.of(tail)
    return _constant(names, axes, [condition])


def _tail(condition: Expr, names: frozenset[str], axes: Mapping[str, Expr]) -> Expr | None:
    """N where ``outer * T + inner < N`` cuts ``ceildiv(N, T)`` tiles of T."""
    item = guard(condition)
    if item is None or item.equality:
        return None
    factors = {name: item.coefficient(name) for name in sorted(names)}
    limit: Expr = simplify(
        ("*", ("-", item.expr()[1], _weighted(factors)), -1)  # type: ignore[index]
    )
    if len(names) == 1:
        (name,) = names
        extent = axes[name]
        whole = factors[name] == 1 and simplify(("-", extent, limit)) == 0
        return limit if whole else None
    if len(names) != 2 or None in factors.values():
        return None
    inner, outer = sorted(factors, key=lambda name: factors[name] or 0)
    tile = factors[outer]
    if factors[inner] != 1 or axes[inner] != tile:
        return None
    tiles = simplify(("//", ("+", limit, ("-", tile, 1)), tile))
    if simplify(("-", axes[outer], tiles)) == 0:
        return limit
    whole_tiles = simplify(("//", limit, tile))
    if simplify(("-", axes[outer], whole_tiles)) == 0:
        return simplify(("*", whole_tiles, tile))
    return None


def _weighted(factors: Mapping[str, int | None]) -> Expr:
    return ("+", 0, *(("*", name, factor or 0) for name, factor in factors.items()))


def _constant(names: frozenset[str], axes: Mapping[str, Expr], parts: list[Expr]) -> Polynomial:
    """The number of points where nothing depends on a shape."""
    extents = {name: extent for name, extent in axes.items() if name in names}
    if not all(isinstance(extent, int) for extent in extents.values()):
        raise NoFormulaError
    if any(not free_variables(part) <= names for part in parts):
        raise NoFormulaError
    intervals = {name: (0, int(extent) - 1) for name, extent in extents.items()}  # type: ignore
    total = Solver().solve(problem(intervals, parts))
    if not total.exact:
        raise NoFormulaError
    return Polynomial.of(total.value)


def _numeric(
    names: frozenset[str],
    axes: dict[str, Expr],
    conditions: list[Expr],
    condition: Expr,
    weights: list[Expr],
) -> Polynomial:
    """A whole component that no shape variable enters, solved by counting."""
    group = set(names)
    parts = [condition]
    grown = True
    while grown:
        grown = False
        for other in list(conditions):
            if free_variables(other) & group:
                conditions.remove(other)
                parts.append(other)
                group |= free_variables(other) & set(axes)
                grown = True
    if any(free_variables(item) & group for item in (*weights, *axes.values())):
        raise NoFormulaError
    total = _constant(frozenset(group), axes, parts)
    for name in group:
        del axes[name]
    return total
