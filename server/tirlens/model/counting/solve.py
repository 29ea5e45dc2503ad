"""Sum a product of weights over the integer points of a guarded box, exactly.

The way from cheap to dear: split into components that share no condition; solve conditions that
are linear in a variable for it, so that its sum is one expression in the others (tails, triangles,
clipped tiles); then eliminate variable after variable in tables of numpy integers.  Where even
that is too large, the sum is estimated from a regular sample and the solver says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tirlens_worker.facts import Expr

from ..expr import evaluate, simplify, substitute
from .guards import Guard, guard, scope_of
from .intervals import bounds
from .tables import TooLargeError, contract

IntBox = dict[str, tuple[int, int]]
Factor = Guard | Expr

# Largest table of one elimination step, in elements, and the patience for one component.
TABLE_LIMIT = 2_000_000
SAMPLES = 129


@dataclass(frozen=True)
class Problem:
    """``sum over box of product of guards (0 or 1) and weights``, `projected` variables merged.

    A predicate (a condition that is no `Guard`) is a weight of 0 or 1.
    """

    box: IntBox
    guards: tuple[Guard, ...]
    weights: tuple[Expr, ...]
    projected: frozenset[str]


# A sum over no point.
NOTHING = Problem({"": (0, -1)}, (), (), frozenset())


@dataclass
class Solver:
    """Remembers what it solved, for one analysis.

    `sampled` counts the sums that are estimates.
    """

    sampled: int = 0
    _known: dict[object, tuple[int, bool]] = field(
        default_factory=dict[object, "tuple[int, bool]"], repr=False
    )

    def solve(self, problem: Problem) -> int:
        """The sum; `sampled` grows by one if it is an estimate."""
        result = 1
        sampled = False
        for part in components(problem):
            key = (
                tuple(sorted(part.box.items())),
                frozenset(part.guards),
                part.weights,
                part.projected,
            )
            if key not in self._known:
                self._known[key] = _solve_component(part)
            value, estimated = self._known[key]
            sampled |= estimated
            result *= value
            if result == 0:
                return 0
        self.sampled += sampled
        return result


def components(problem: Problem) -> list[Problem]:
    """The independent parts of a problem, each with the variables of its own factors."""
    parent = {name: name for name in problem.box}

    def find(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    factors: list[Factor] = []
    constants: list[Problem] = []
    for factor in (*problem.guards, *problem.weights):
        if not scope_of(factor):
            constants.append(_constant(factor))
            continue
        factors.append(factor)
        scope = iter(scope_of(factor))
        first = next(scope)
        for name in scope:
            parent[find(name)] = find(first)
    groups: dict[str, list[str]] = {}
    for name in problem.box:
        groups.setdefault(find(name), []).append(name)
    by_root: dict[str, tuple[list[Guard], list[Expr]]] = {r: ([], []) for r in groups}
    for factor in factors:
        scope = scope_of(factor)
        guards, weights = by_root[find(next(iter(scope)))]
        if isinstance(factor, Guard):
            guards.append(factor)
        else:
            weights.append(factor)
    return constants + [
        Problem(
            {name: problem.box[name] for name in names},
            tuple(by_root[root][0]),
            tuple(by_root[root][1]),
            problem.projected.intersection(names),
        )
        for root, names in groups.items()
    ]


def _constant(factor: Factor) -> Problem:
    """A problem whose sum is the value of a factor without variables."""
    value = evaluate(factor.expr() if isinstance(factor, Guard) else factor, {})
    return Problem({"": (0, int(value) - 1)}, (), (), frozenset())


def _solve_component(problem: Problem) -> tuple[int, bool]:
    """The sum over one component, and whether it is an estimate."""
    if any(low > high for low, high in problem.box.values()):
        return 0, False
    if not problem.guards and not problem.weights:
        result = 1
        for name, (low, high) in problem.box.items():
            result *= 1 if name in problem.projected else high - low + 1
        return result, False
    reduced = _eliminate(problem)
    if len(reduced.box) < len(problem.box):
        solver = Solver()
        return solver.solve(reduced), solver.sampled > 0
    return _by_table(problem)


def _eliminate(problem: Problem) -> Problem:
    """The problem without one variable whose conditions can be solved for it, if there is one."""
    names = [name for name in problem.box if name in problem.projected] or list(problem.box)
    for name in sorted(names, key=lambda n: problem.box[n][0] - problem.box[n][1]):
        if any(name in scope_of(weight) for weight in problem.weights):
            continue
        mine = [item for item in problem.guards if name in item.scope]
        solved = [item.limits(name) for item in mine]
        limits = [limit for limit in solved if limit is not None]
        if len(limits) < len(solved):
            continue
        low, high = problem.box[name]
        lows: list[Expr] = [low, *(least for least, _ in limits if least is not None)]
        highs: list[Expr] = [high + 1, *(most for _, most in limits if most is not None)]
        box = {n: interval for n, interval in problem.box.items() if n != name}
        guards = tuple(item for item in problem.guards if item not in mine)
        if name in problem.projected:
            return _project(problem, box, guards, lows, highs)
        length = _length(lows, highs, box)
        return Problem(box, guards, (*problem.weights, length), problem.projected)
    return problem


def _length(lows: Iterable[Expr], highs: Iterable[Expr], box: IntBox) -> Expr:
    """How many integers lie from the largest of `lows` up to below the least of `highs`."""
    first = _extremum("max", lows, box)
    stop = _extremum("min", highs, box)
    return simplify(("max", 0, ("-", stop, first)))


def _extremum(op: str, items: Iterable[Expr], box: IntBox) -> Expr:
    """The least or greatest of `items`, without those that never are."""
    ranges = {item: bounds(item, box) for item in items}
    kept: list[Expr] = []
    if op == "min":
        ceiling = min(high for _, high in ranges.values())
        kept = [item for item, (low, high) in ranges.items() if low < ceiling or high == ceiling]
    else:
        floor = max(low for low, _ in ranges.values())
        kept = [item for item, (low, high) in ranges.items() if high > floor or low == floor]
    return kept[0] if len(kept) == 1 else (op, *kept)


def _project(
    problem: Problem,
    box: IntBox,
    guards: tuple[Guard, ...],
    lows: Sequence[Expr],
    highs: Sequence[Expr],
) -> Problem:
    """Some value exists exactly if every lower bound is below every upper one."""
    new: list[Guard] = []
    for least in lows:
        for most in highs:
            condition = simplify(("<", least, most))
            if isinstance(condition, bool):
                if not condition:
                    return NOTHING
                continue
            item = guard(condition)
            assert item is not None, "bounds of integers compare as integers"
            truth = item.truth(box)
            if truth is False:
                return NOTHING
            if truth is None:
                new.append(item)
    remaining = problem.projected.intersection(box)
    return Problem(box, (*guards, *new), problem.weights, remaining)


def _by_table(problem: Problem) -> tuple[int, bool]:
    factors = (*(item.expr() for item in problem.guards), *problem.weights)
    try:
        return contract(problem.box, factors, problem.projected, TABLE_LIMIT), False
    except TooLargeError:
        pass
    divided = _divide_cases(problem)
    if divided is not None:
        return divided
    return _sample(problem), True


def _divide_cases(problem: Problem) -> tuple[int, bool] | None:
    """Split a disjunction into disjoint cases, each of which may be solved in closed form."""
    for weight in problem.weights:
        if not isinstance(weight, tuple) or weight[0] not in ("or", "!="):
            continue
        others = list(problem.weights)
        others.remove(weight)
        if weight[0] == "!=":
            cases = [("<", *weight[1:]), (">", *weight[1:])]
        else:
            cases = [
                simplify(("and", *(("not", part) for part in weight[1:index]), weight[index]))
                for index in range(1, len(weight))
            ]
        solver = Solver()
        total = 0
        for case in cases:
            total += solver.solve(with_conditions(problem, tuple(others), case))
        return total, solver.sampled > 0
    return None


def with_conditions(problem: Problem, weights: tuple[Expr, ...], condition: Expr) -> Problem:
    """`problem` with `weights` for its own, and `condition` beside its guards."""
    parts = condition[1:] if isinstance(condition, tuple) and condition[0] == "and" else [condition]
    guards = list(problem.guards)
    plain = list(weights)
    for part in parts:
        if isinstance(part, (bool, int)):
            plain.append(int(part))
            continue
        item = guard(part)
        if item is None:
            plain.append(part)
        else:
            guards.append(item)
    constants = [w for w in plain if isinstance(w, (int, float))]
    if any(value == 0 for value in constants):
        return NOTHING
    return Problem(
        problem.box,
        tuple(guards),
        tuple(w for w in plain if not isinstance(w, (int, float))),
        problem.projected,
    )


def _sample(problem: Problem) -> int:
    """An estimate: the exact sums at equally spaced values of the longest variable."""
    free = [name for name in problem.box if name not in problem.projected] or list(problem.box)
    name = max(free, key=lambda n: problem.box[n][1] - problem.box[n][0])
    low, high = problem.box[name]
    length = high - low + 1
    count = min(SAMPLES, length)
    solver = Solver()
    total = 0
    for index in range(count):
        value = low + (2 * index + 1) * length // (2 * count)
        total += solver.solve(fix(problem, name, value))
    return total * length // count


def fix(problem: Problem, name: str, value: int) -> Problem:
    """The problem at one value of a variable."""
    at = {name: value}
    box = {n: interval for n, interval in problem.box.items() if n != name}
    parts: list[Expr] = [substitute(item.expr(), at) for item in problem.guards]
    parts += [substitute(weight, at) for weight in problem.weights]
    simple = [simplify(part) for part in parts]
    base = Problem(box, (), (), problem.projected - {name})
    guards: list[Guard] = []
    weights: list[Expr] = []
    scale = 1
    for part in simple:
        if isinstance(part, (int, float)):
            scale *= int(part)
            continue
        item = guard(part)
        if item is None:
            weights.append(part)
        else:
            guards.append(item)
    if scale == 0:
        return NOTHING
    if scale != 1:
        box = {**box, "": (0, scale - 1)}
    return Problem(box, tuple(guards), tuple(weights), base.projected)
