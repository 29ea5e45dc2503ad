"""Totals as formulas in the free shape variables, equal to the count at every binding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee

from tirlens_counting.expressions import conjuncts, negate, simplify, substitute
from tirlens_counting.polynomial import Polynomial
from tirlens_counting.symbolic_counts import NoFormulaError, Points, Weights, count_symbolically
from tirlens_worker.facts import Access, Branch, Expr, KernelFacts, Let, Loop, Node, Statement

from ..dtypes import bits
from .operation_classes import sum_operations


@dataclass(frozen=True)
class _FormulaScope:
    """The enclosing loops with their extents (from zero), conditions, and values of names."""

    axes: Mapping[str, Expr]
    threads: frozenset[str]
    conditions: tuple[Expr, ...]
    env: Mapping[str, Expr]
    # Resolved expressions, for reuse.
    known: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr], repr=False, compare=False)

    def resolve(self, expr: Expr) -> Expr:
        if not isinstance(expr, tuple):
            return simplify(substitute(expr, self.env))
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = simplify(substitute(expr, self.env))
        return found

    def under_condition(self, condition: Expr | None) -> _FormulaScope:
        if condition is None:
            return self
        return replace(self, conditions=(*self.conditions, *conjuncts(self.resolve(condition))))

    def points(self, node: Statement, weights: Weights) -> Points:
        """The iteration points of a statement, with their weights."""
        if node.per not in ("thread", "block"):
            raise NoFormulaError
        merged = self.threads if node.per == "block" else frozenset[str]()
        axes = tuple(item for item in self.axes.items() if item[0] not in merged)
        return Points(axes, self.conditions, weights)


# The scope, weights and factor of each part of a statement.
OfStatement = Callable[[Statement, _FormulaScope], Iterator[tuple[_FormulaScope, Weights, int]]]


class Formulas:
    """The formulas of one kernel.  Scopes and the counts of equal points are computed once."""

    def __init__(self, facts: KernelFacts) -> None:
        self._facts = facts
        # Lazy: often the first statements show that there is no formula.
        self._scoped = tee(_scoped_statements(facts))
        self._points: dict[Points, Polynomial] = {}

    def flop(self) -> str | None:
        """FLOP of the whole launch, such as ``2*M*N*K``; None if there is no formula."""
        return self._formula(self._scoped[0], _flop())

    def global_bytes(self) -> str | None:
        """Bytes of global memory that the program reads and writes; None without a formula."""
        return self._formula(self._scoped[1], _global_bytes(self._facts))

    def _formula(
        self,
        placed: Iterable[tuple[Statement, _FormulaScope] | None],
        of_statement: OfStatement,
    ) -> str | None:
        if not self._facts.variables:
            return None
        times: dict[Points, int] = {}
        total = Polynomial.of(0)
        try:
            for place in placed:
                if place is None:
                    raise NoFormulaError
                for inner, weights, factor in of_statement(*place):
                    points = inner.points(place[0], weights)
                    if points not in self._points:
                        self._points[points] = count_symbolically(
                            points, [variable.name for variable in self._facts.variables]
                        )
                    times[points] = times.get(points, 0) + factor
            for points, factor in times.items():
                total = total + self._points[points] * Polynomial.of(factor)
        except NoFormulaError:
            return None
        return total.text([variable.name for variable in self._facts.variables])


def _flop() -> OfStatement:
    known: dict[tuple[str, str, bool, int], int] = {}

    def of_statement(
        node: Statement, scope: _FormulaScope
    ) -> Iterator[tuple[_FormulaScope, Weights, int]]:
        for item in node.arith:
            kind = item.op, item.dtype, item.index, item.sparsity
            if kind not in known:
                known[kind] = sum_operations([(item, item.sparsity)]).flop
            if known[kind]:
                if item.sparsity != 1:
                    raise NoFormulaError
                yield scope.under_condition(item.guard), (scope.resolve(item.count),), known[kind]

    return of_statement


def _global_bytes(facts: KernelFacts) -> OfStatement:
    buffers = {item.id: item for item in facts.buffers}

    def of_statement(
        node: Statement, scope: _FormulaScope
    ) -> Iterator[tuple[_FormulaScope, Weights, int]]:
        for item in node.accesses:
            buffer = buffers[item.buffer]
            if buffer.scope != "global":
                continue
            width = bits(buffer.dtype)
            if width is None or width % 8:
                raise NoFormulaError
            inner, lengths = _access_box(item, buffer.shape, scope.under_condition(item.guard))
            times = 2 if item.mode == "atomic" else 1
            yield inner, lengths, times * width // 8 * item.lanes

    return of_statement


def _scoped_statements(facts: KernelFacts) -> Iterator[tuple[Statement, _FormulaScope] | None]:
    """Each statement with its scope; None where the execution count of one is not known."""
    try:
        yield from _statements(facts.body, _FormulaScope({}, frozenset(), (), {}))
    except Exception:  # neither formula can be made, and both end here
        yield None


def _statements(
    nodes: Sequence[Node], scope: _FormulaScope
) -> Iterator[tuple[Statement, _FormulaScope] | None]:
    for node in nodes:
        if isinstance(node, Statement):
            yield node, scope
        elif isinstance(node, Let):
            env = {**scope.env, node.var: scope.resolve(node.value)}
            scope = replace(scope, env=env, known={})
        elif isinstance(node, Loop):
            yield from _statements(node.body, _loop_scope(node, scope))
        elif isinstance(node, Branch):
            yield from _statements(node.then, scope.under_condition(node.condition))
            opposite = negate(scope.resolve(node.condition))
            yield from _statements(node.orelse, scope.under_condition(opposite))
        elif any(True for _ in _statements(node.body, scope)):
            yield None


def _loop_scope(node: Loop, scope: _FormulaScope) -> _FormulaScope:
    start, step = scope.resolve(node.start), scope.resolve(node.step)
    env = {name: value for name, value in scope.env.items() if name != node.var}
    if start != 0 or step != 1:
        env[node.var] = simplify(("+", start, ("*", step, node.var)))
    return _FormulaScope(
        {**scope.axes, node.var: scope.resolve(node.extent)},
        scope.threads | {node.var} if node.kind == "block" else scope.threads,
        scope.conditions,
        env,
    )


def _access_box(
    item: Access, shape: Sequence[Expr], scope: _FormulaScope
) -> tuple[_FormulaScope, tuple[Expr, ...]]:
    """The scope with an axis for each clipped dimension, and the sizes of the others."""
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
        scope = scope.under_condition(("and", (">=", position, 0), ("<", position, shape[axis])))
    return scope, tuple(lengths)


def formulas(facts: KernelFacts) -> Mapping[str, str]:
    """``flop`` and ``global_bytes`` in the shape variables; a key is left out if not known."""
    found = Formulas(facts)
    makers: Mapping[str, Callable[[], str | None]] = {
        "flop": found.flop,
        "global_bytes": found.global_bytes,
    }
    out: dict[str, str] = {}
    for name, maker in makers.items():
        try:
            text = maker()
        except Exception:  # a formula is an extra: without it the numbers still stand
            text = None
        if text:
            out[name] = text
    return out
