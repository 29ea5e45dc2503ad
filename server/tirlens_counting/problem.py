"""Sums over guarded boxes as data, and their independent parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .expressions import Expr, conjuncts, free_variables, simplify
from .guards import Guard, make_guard
from .range_simplification import simplify_in_ranges

IntBox = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Problem:
    """``scale * sum over box of the product of guards (0 or 1) and weights``.

    Points that differ only in `projected` variables count once.  A condition that is no `Guard` is
    a weight of 0 or 1.  `is_tight` says whether `make_problem` has tightened the box.
    """

    box: IntBox
    guards: tuple[Guard, ...] = ()
    weights: tuple[Expr, ...] = ()
    projected: frozenset[str] = frozenset()
    scale: int = 1
    is_tight: bool = field(default=False, compare=False)

    def factors(self) -> tuple[Expr, ...]:
        """Guards and weights as expressions."""
        return (*(item.expression() for item in self.guards), *self.weights)

    def with_projection(self, projected: frozenset[str]) -> Problem:
        """The problem with these variables projected out."""
        mine = projected.intersection(self.box)
        if not mine:
            return self
        return Problem(self.box, self.guards, self.weights, mine, self.scale, self.is_tight)

    def key(self) -> object:
        """What is the same for equal problems."""
        box = tuple(sorted(self.box.items()))
        return box, frozenset(self.guards), self.weights, self.projected


# Limit of rounds of bound propagation.
MAX_ROUNDS = 4

# A sum over no point.
EMPTY_PROBLEM = Problem({}, scale=0)


def make_problem(
    box: IntBox, factors: Iterable[Expr], projected: frozenset[str] = frozenset(), scale: int = 1
) -> Problem:
    """The sum of the product of `factors` over `box`, simplified under the ranges.

    Constants move to the scale; conditions on one variable tighten the box.
    """
    box = dict(box)
    parts = [part for factor in factors for part in _conjuncts(factor)]
    kept: list[tuple[Expr, Guard | None]] = []
    is_tight = False
    for _ in range(MAX_ROUNDS):
        kept = []
        before = dict(box)
        known: dict[Expr, Expr] = {}
        for part in parts:
            shorter = simplify_in_ranges(part, box, known=known)
            if isinstance(shorter, (int, float)):
                scale *= int(shorter)
                continue
            condition = make_guard(shorter)
            implied = condition or _support_guard(shorter)
            if implied is not None and (narrower := implied.narrowed_ranges(box)):
                box.update(narrower)
                known = {}
                if any(box[name][0] > box[name][1] for name in implied.scope):
                    return EMPTY_PROBLEM
            kept.append((shorter, condition))
        if scale == 0:
            return EMPTY_PROBLEM
        if box == before:
            is_tight = True
            break
        parts = [part for part, _ in kept]
    guards = dict.fromkeys(condition for _, condition in kept if condition is not None)
    weights = tuple(part for part, condition in kept if condition is None)
    return Problem(box, tuple(guards), weights, projected.intersection(box), scale, is_tight)


def _conjuncts(factor: Expr) -> tuple[Expr, ...]:
    if isinstance(factor, tuple) and factor[0] == "and":
        return conjuncts(factor)
    return (factor,)


def _support_guard(weight: Expr) -> Guard | None:
    """The condition that a length ``max(x, 0)`` makes: where it does not hold, it is zero."""
    if isinstance(weight, tuple) and weight[0] == "max" and weight[-1] == 0 and len(weight) == 3:
        return make_guard(simplify((">", weight[1], 0)))
    return None


def split_components(whole: Problem) -> list[Problem]:
    """The independent parts of a problem, each with the variables of its own factors.

    The product of their sums and the whole's scale is its sum.
    """
    parent = {name: name for name in whole.box}

    def find(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    factors = [(item, item.scope) for item in whole.guards]
    others = [(item, free_variables(item)) for item in whole.weights]
    for _, scope in (*factors, *others):
        first, *rest = scope
        for name in rest:
            parent[find(name)] = find(first)
    groups: dict[str, list[str]] = {}
    for name in whole.box:
        groups.setdefault(find(name), []).append(name)
    guards: dict[str, list[Guard]] = {root: [] for root in groups}
    weights: dict[str, list[Expr]] = {root: [] for root in groups}
    for item, scope in factors:
        guards[find(next(iter(scope)))].append(item)
    for item, scope in others:
        weights[find(next(iter(scope)))].append(item)
    return [
        Problem(
            {name: whole.box[name] for name in names},
            tuple(guards[root]),
            tuple(weights[root]),
            whole.projected.intersection(names),
            is_tight=whole.is_tight,
        )
        for root, names in groups.items()
    ]


def join_problems(
    parts: Iterable[Problem], factors: Iterable[Expr], projected: frozenset[str]
) -> Problem:
    """Independent `parts` made one by `factors` on variables of them all."""
    box: IntBox = {}
    everything: list[Expr] = []
    for part in parts:
        box.update(part.box)
        everything += part.factors()
    return make_problem(box, (*everything, *factors), projected)


def is_empty(box: IntBox) -> bool:
    """Whether a box has no point."""
    return any(low > high for low, high in box.values())
