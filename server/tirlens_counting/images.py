"""Images of guarded boxes: the distinct positions that index expressions take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .arrays import np, npt
from .digit_variables import change_to_digits
from .elimination import coordinate_axes
from .expressions import (
    Expr,
    UnknownValueError,
    evaluate,
    free_variables,
    linear,
    simplify,
    substitute,
)
from .intervals import Interval, bounds, linear_bounds
from .problem import Problem, is_empty, join_problems, make_problem, split_components
from .product_images import Side, find_product_image
from .solver import Solver, eliminate_projected

# Largest enumeration of points.
MAX_POINTS = 250_000

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DependentPositions:
    """The positions in some dimensions that are no product of coordinates.

    `number` of them are distinct, and lie in `hull`; `key` is the same for equal ones.
    """

    axes: tuple[int, ...]
    size: int
    hull: tuple[range, ...]
    key: object
    positions: tuple[Expr, ...]
    points: Problem

    def mask(self) -> Mask | None:
        """The positions of the hull that occur, as a mask; None for too many points."""
        return _mask(self.points, self.positions, self.hull)

    def difference_range(self, axis: int, other: int, scales: Sequence[int]) -> Interval:
        """Bounds of the scaled coordinate of one dimension less that of another one."""
        first, second = (self.positions[self.axes.index(each)] for each in (axis, other))
        difference = ("-", ("*", first, scales[axis]), ("*", second, scales[other]))
        return _guarded_bounds(simplify(difference), self.points)


@dataclass(frozen=True)
class Image:
    """The product of independent coordinates (`sides`) and of dependent positions."""

    sides: Mapping[int, Side]
    dependent: tuple[DependentPositions, ...] = ()

    @property
    def size(self) -> int:
        """How many distinct positions there are."""
        return math.prod(map(len, self.sides.values())) * math.prod(t.size for t in self.dependent)


def find_image(
    points: Problem, positions: Sequence[Expr], shape: Sequence[int], solver: Solver
) -> Image | None:
    """The positions, which lie inside `shape`, over all points; None if they are too many."""
    nothing = Image({axis: range(0) for axis in range(len(shape))})
    if points.scale == 0 or is_empty(points.box):
        return nothing
    found = find_product_image(points, positions)
    if found is not None:
        return Image(found) if found else nothing
    factors = points.factors()
    change = change_to_digits(points.box, (*positions, *factors), points.projected)
    if change is not None:
        positions, factors = change.exprs[: len(positions)], change.exprs[len(positions) :]
        points = make_problem(dict(change.box), (*factors, *change.conditions), change.projected)
    used = frozenset[str]().union(*map(free_variables, positions))
    points = eliminate_projected(replace(points, projected=frozenset(points.box) - used))
    if points.scale == 0 or is_empty(points.box):
        return nothing
    parts = split_components(points)
    for part in parts:
        if used.isdisjoint(part.box) and solver.solve_part(part).value == 0:
            return nothing
    apart: dict[int, Side] = {}
    tied: list[DependentPositions] = []
    for axes, group in _groups(positions, parts):
        merged = join_problems(group, (), points.projected)
        if merged.scale == 0 or is_empty(merged.box):
            return nothing
        mine = tuple(positions[axis] for axis in axes)
        side = _side(merged, mine[0], shape[axes[0]]) if len(axes) == 1 else None
        if side is not None:
            apart[axes[0]] = side
            continue
        found = _dependent_positions(axes, merged, mine, shape, solver)
        if found is None:
            return None
        tied.append(found)
    return Image(apart, tuple(tied))


def _groups(
    positions: Sequence[Expr], parts: Sequence[Problem]
) -> list[tuple[tuple[int, ...], list[Problem]]]:
    """Dimensions that share parts of the problem, and those parts."""
    groups: list[tuple[tuple[int, ...], list[Problem]]] = []
    for axis, position in enumerate(positions):
        names = free_variables(position)
        mine = [part for part in parts if not names.isdisjoint(part.box)]
        axes: tuple[int, ...] = (axis,)
        apart: list[tuple[tuple[int, ...], list[Problem]]] = []
        for others, theirs in groups:
            if any(part is other for part in mine for other in theirs):
                axes = (*others, *axes)
                mine += [other for other in theirs if all(other is not part for part in mine)]
            else:
                apart.append((others, theirs))
        groups = [*apart, (axes, mine)]
    return groups


def _side(points: Problem, position: Expr, size: int) -> Side | None:
    """The distinct values of one position, in order."""
    if isinstance(position, tuple) and position[0] in ("min", "max") and len(position) == 3:
        inner, limit = position[1:]
        values = _progression(points, inner) if isinstance(limit, int) else None
        if values is not None and values.step == 1:
            low, high = values[0], values[-1]
            if position[0] == "min":
                return range(min(low, limit), min(high, limit) + 1)
            return range(max(low, limit), max(high, limit) + 1)
    values = _progression(points, position)
    if values is not None:
        return values
    mask = _mask(points, (position,), (range(size),))
    return None if mask is None else np.flatnonzero(mask)


def _progression(points: Problem, position: Expr) -> range | None:
    """The values as a range, where a sum of variables of a box leaves no gap."""
    terms, constant = linear(position)
    if points.weights or not all(name in points.box for name in terms):
        return None
    step = math.gcd(*terms.values())
    if not step:
        return range(constant, constant + 1)
    low = high = constant
    reach = 0
    for name, factor in sorted(terms.items(), key=lambda item: abs(item[1])):
        if abs(factor) > reach + step:
            return None
        first, last = points.box[str(name)]
        reach += abs(factor) * (last - first)
        ends = (factor * first, factor * last)
        low, high = low + min(ends), high + max(ends)
    for item in points.guards:
        # Only conditions on the position itself cut a range off.
        if item.equality or step != 1:
            return None
        mine = dict(item.terms)
        if mine == terms:
            high = min(high, constant - item.constant - 1)
        elif mine == {name: -factor for name, factor in terms.items()}:
            low = max(low, constant + item.constant + 1)
        else:
            return None
    return range(low, max(low, high + 1), step)


def _dependent_positions(
    axes: tuple[int, ...],
    points: Problem,
    positions: tuple[Expr, ...],
    shape: Sequence[int],
    solver: Solver,
) -> DependentPositions | None:
    hull: list[range] = []
    for axis, position in zip(axes, positions, strict=True):
        low, high = bounds(position, points.box)
        hull.append(range(int(max(low, 0)), int(min(high, shape[axis] - 1)) + 1))
    if _is_injective(positions, points):
        total = solver.solve(points)
        if not total.exact:
            return None
        number = total.value
    else:
        mask = _mask(points, positions, hull)
        if mask is None:
            return None
        number = int(np.count_nonzero(mask))
    return DependentPositions(axes, number, tuple(hull), _key(positions, points), positions, points)


def _guarded_bounds(expr: Expr, points: Problem) -> Interval:
    """Bounds of an expression over all points, by each guard on multiples of its own terms."""
    low, high = bounds(expr, points.box)
    terms, constant = linear(expr)
    for guard in points.guards:
        atom, factor = guard.terms[0]
        times, rest = divmod(terms.get(atom, 0), factor)
        if rest or not times:
            continue
        others = dict(terms)
        for name, coefficient in guard.terms:
            others[name] = others.get(name, 0) - times * coefficient
        least, most = linear_bounds(
            {name: value for name, value in others.items() if value}, constant, points.box
        )
        # The sum of the guard's terms is below minus its constant.
        limit = times * (-guard.constant - (0 if guard.equality else 1))
        if times > 0 or guard.equality:
            high = min(high, most + limit)
        if times < 0 or guard.equality:
            low = max(low, least + limit)
    return low, high


def _is_injective(positions: Sequence[Expr], points: Problem) -> bool:
    """Whether different values of the variables in `positions` surely give different positions."""
    sums = [linear(position)[0] for position in positions]
    if not all(name in points.box for terms in sums for name in terms):
        return False
    known: set[Expr] = set()
    progress = True
    while progress:
        progress = False
        for terms in sums:
            unknown = {str(name): factor for name, factor in terms.items() if name not in known}
            reach = 0
            for name, factor in sorted(unknown.items(), key=lambda item: abs(item[1])):
                if abs(factor) <= reach:
                    break
                low, high = points.box[name]
                reach += abs(factor) * (high - low)
            else:
                progress = progress or bool(unknown)
                known.update(unknown)
    return all(name in known for terms in sums for name in terms)


def _key(positions: tuple[Expr, ...], points: Problem) -> object:
    """The positions and their points, however the variables are called."""
    names: dict[str, Expr] = {}

    def visit(expr: Expr) -> None:
        if isinstance(expr, str):
            names.setdefault(expr, f"#{len(names)}")
        elif isinstance(expr, tuple):
            for operand in expr[1:]:
                visit(operand)

    factors = points.factors()
    for expr in (*positions, *factors):
        visit(expr)
    renamed = [substitute(expr, names) for expr in (*positions, *factors)]
    box = tuple(interval for name, interval in points.box.items() if name not in names)
    return tuple(renamed), tuple(points.box.get(name) for name in names), box


def _mask(points: Problem, positions: Sequence[Expr], hull: Sequence[range]) -> Mask | None:
    """The positions inside `hull` that occur, by enumeration of all points."""
    lengths = [high - low + 1 for low, high in points.box.values()]
    if math.prod(lengths) > MAX_POINTS or math.prod(map(len, hull)) > 16 * MAX_POINTS:
        return None
    env = coordinate_axes(points.box, np.int64)
    flat: Any = np.zeros((), dtype=np.int64)
    there: Any = np.ones((), dtype=bool)
    try:
        for position, side in zip(positions, hull, strict=True):
            value = evaluate(position, env)
            there = there & (value >= side.start) & (value < side.stop)
            flat = flat * len(side) + (value - side.start)
        for factor in points.factors():
            there = there & (np.asarray(evaluate(factor, env)) != 0)
    except UnknownValueError:
        return None
    shape = tuple(len(side) for side in hull)
    seen = np.zeros(math.prod(shape), dtype=bool)
    flat, there = np.broadcast_arrays(flat, there)
    seen[flat[there]] = True
    return np.reshape(seen, shape)
