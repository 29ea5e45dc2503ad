"""Distinct elements that a kernel touches: its compulsory traffic, and requests of one warp."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tirlens_worker.facts import Access, Buffer, Expr, KernelFacts

from .counting.domain import Domain
from .counting.intervals import linear_bounds
from .counting.result import Counts, leaves
from .counting.solve import Problem, Solver, components
from .counting.tables import mesh
from .counting.walker import Scope, Walker
from .dtypes import bits, byte_count
from .expr import UnknownValueError, evaluate, free_variables, is_data_dependent, linear, simplify

# Largest enumeration of points, and largest buffer that gets a bitmap, in elements.
POINT_LIMIT = 250_000
BITMAP_LIMIT = 64_000_000

Coordinates = npt.NDArray[np.int64] | range


@dataclass(frozen=True)
class Touched:
    """Distinct bytes, in all and by array; `exact` is False where they are only an upper bound."""

    bytes: int
    exact: bool = True
    by_buffer: Mapping[str, int] = field(default_factory=dict[str, int])


def compulsory_bytes(facts: KernelFacts, bindings: Mapping[str, int]) -> Touched | None:
    """Every byte of global memory that is read or written, each once.

    None where a shape is not bound.
    """
    walker = Walker(facts, bindings)
    return touched_bytes(walker, walker.counts())


def touched_bytes(walker: Walker, counts: Counts) -> Touched | None:
    """`compulsory_bytes` of what `walker` has counted."""
    by_root: dict[str, list[tuple[Access, Scope]]] = {}
    for access, scope in walker.touches:
        root = _root(walker.buffers, access.buffer)
        if walker.buffers[root].scope == "global":
            by_root.setdefault(root, []).append((access, scope))
    issued = _issued_bytes(walker, counts)
    # What depends on data was counted as an upper bound, and left a caveat.
    exact = len(counts.caveats) == len(walker.facts.caveats)
    by_buffer: dict[str, int] = {}
    for root, accesses in by_root.items():
        shape = counts.buffers[root].shape
        if shape is None:
            return None
        elements, known = _distinct(root, shape, accesses, walker)
        size = byte_count(elements, walker.buffers[root].dtype)
        if size is None:
            return None
        # No byte is touched that is not asked for; this bounds a gather from a large array.
        by_buffer[root] = min(size, issued.get(root, size))
        exact = exact and known
    return Touched(sum(by_buffer.values()), exact, by_buffer)


def _issued_bytes(walker: Walker, counts: Counts) -> dict[str, int]:
    """Bytes asked for of each global array; an array of which they are not known has no entry."""
    issued: dict[str, int | None] = {}
    for leaf in leaves(counts.root):
        for entry in leaf.accesses:
            root = _root(walker.buffers, entry.access.buffer)
            before = issued.get(root, 0)
            known = None if entry.bytes is None or before is None else before + entry.bytes
            issued[root] = known
    return {root: amount for root, amount in issued.items() if amount is not None}


def _root(buffers: Mapping[str, Buffer], name: str) -> str:
    seen = {name}
    while (parent := buffers[name].alias_of) in buffers and parent not in seen:
        assert parent is not None
        seen.add(parent)
        name = parent
    return name


def _distinct(
    root: str, shape: tuple[int, ...], accesses: Sequence[tuple[Access, Scope]], walker: Walker
) -> tuple[int, bool]:
    """Distinct elements of one buffer, and whether that is exact."""
    size = math.prod(shape)
    boxes: list[list[Coordinates]] = []
    points: list[npt.NDArray[np.int64]] = []
    for access, scope in accesses:
        found = None if access.buffer != root else _touched(access, scope, shape)
        if found is None:
            return size, False
        if isinstance(found, list):
            if math.prod(len(side) for side in found) == size:
                return size, True
            boxes.append(found)
        else:
            points.append(found)
    if len(boxes) == 1 and not points:
        return math.prod(len(side) for side in boxes[0]), True
    if size > BITMAP_LIMIT:
        return min(size, sum(math.prod(map(len, b)) for b in boxes) + sum(map(len, points))), False
    seen = np.zeros(shape, dtype=bool)
    for box in boxes:
        if all(len(side) for side in box):
            seen[np.ix_(*(np.asarray(side, dtype=np.int64) for side in box))] = True
    for item in points:
        np.ravel(seen)[item] = True
    return int(np.count_nonzero(seen)), True


def _touched(
    access: Access, scope: Scope, shape: tuple[int, ...]
) -> list[Coordinates] | npt.NDArray[np.int64] | None:
    """The elements of an access: a product of coordinates, or flat positions; None if too many."""
    domain = scope.domain
    if domain.empty:
        return [range(0) for _ in shape]
    if domain.missing:
        return None
    coordinates: list[Expr] = []
    extents = list(access.extents or (1,) * len(access.indices))
    if extents:
        extents[-1] = ("*", extents[-1], access.lanes)
    for axis, (index, extent) in enumerate(zip(access.indices, extents, strict=True)):
        position, length = scope.resolve(index), scope.resolve(extent)
        if is_data_dependent(position) or is_data_dependent(length):
            return None
        if length != 1:
            name = f"element {axis}"
            domain = domain.with_axis(name, 0, length)
            position = simplify(("+", position, name))
        inside = ("and", (">=", position, 0), ("<", position, shape[axis]))
        domain = domain.where(inside)
        coordinates.append(position)
    if domain.missing or not set().union(*map(free_variables, coordinates), ()) <= set(domain.box):
        return None
    return _positions(domain, coordinates, shape)


def _positions(
    domain: Domain, coordinates: Sequence[Expr], shape: tuple[int, ...]
) -> list[Coordinates] | npt.NDArray[np.int64] | None:
    if domain.empty:
        return [range(0) for _ in shape]
    box = {name: (int(low), int(high)) for name, (low, high) in domain.box.items()}
    parts = components(Problem(box, domain.guards, domain.predicates, frozenset()))
    mine: list[list[Problem]] = [
        [part for part in parts if free_variables(position) & set(part.box)]
        for position in coordinates
    ]
    used = [part for group in mine for part in group]
    solver = Solver()
    if any(solver.solve(part) == 0 for part in parts if part not in used):
        return [range(0) for _ in shape]
    if len({id(part) for part in used}) == len(used):
        sides = [_values(_merged(g), p) for g, p in zip(mine, coordinates, strict=True)]
        known = [side for side in sides if side is not None]
        return known if len(known) == len(sides) else None
    unique = list({id(part): part for part in used}.values())
    flat: Expr = 0
    for position, size in zip(coordinates, shape, strict=True):
        flat = ("+", ("*", flat, size), position)
    values = _values(_merged(unique), simplify(flat))
    return None if values is None else np.asarray(values, dtype=np.int64)


def _merged(parts: Iterable[Problem]) -> Problem:
    box: dict[str, tuple[int, int]] = {}
    guards: tuple[Any, ...] = ()
    weights: tuple[Expr, ...] = ()
    for part in parts:
        box.update(part.box)
        guards += part.guards
        weights += part.weights
    return Problem(box, guards, weights, frozenset())


def _values(problem: Problem, position: Expr) -> Coordinates | None:
    """The distinct values of `position` over the points of a problem, sorted."""
    dense = _interval(problem, position)
    if dense is not None:
        return dense
    lengths = {name: high - low + 1 for name, (low, high) in problem.box.items()}
    if math.prod(lengths.values()) > POINT_LIMIT:
        return None
    env = mesh(problem.box, np.int64)
    full = tuple(lengths.values())
    try:
        values = np.broadcast_to(np.asarray(evaluate(position, env), dtype=np.int64), full)
        mask = np.ones(full, dtype=bool)
        for item in (*(g.expr() for g in problem.guards), *problem.weights):
            mask &= np.asarray(evaluate(item, env), dtype=bool)
    except UnknownValueError:
        return None
    return np.unique(values[mask])


def _interval(problem: Problem, position: Expr) -> range | None:
    """The values as a range, where a mixed-radix sum of rectangular variables leaves no gap."""
    terms, constant = linear(position)
    if problem.weights or not all(name in problem.box for name in terms):
        return None
    low, high = (int(end) for end in linear_bounds(terms, constant, problem.box))
    reach = 0
    for name, factor in sorted(terms.items(), key=lambda item: abs(item[1])):
        if abs(factor) > reach + 1:
            return None
        first, last = problem.box[str(name)]
        reach += abs(factor) * (last - first)
    for item in problem.guards:
        # Only conditions on the position itself cut a range off.
        if item.equality:
            return None
        mine = dict(item.terms)
        if mine == terms:
            high = min(high, constant - item.constant - 1)
        elif mine == {name: -factor for name, factor in terms.items()}:
            low = max(low, constant + item.constant + 1)
        else:
            return None
    return range(low, max(low, high + 1))


def footprint(
    access: Access, buffer: Buffer, free: Mapping[str, tuple[int, int]], fixed: Mapping[str, int]
) -> Touched | None:
    """Distinct bytes of an access while the `free` variables run over their inclusive ranges.

    Every other variable has the value that `fixed` gives it; shapes count as fixed too.  None if
    something is not known or there are too many points.
    """
    shape = [simplify(_fixed(size, fixed)) for size in buffer.shape]
    sizes = tuple(size for size in shape if isinstance(size, int))
    if len(sizes) < len(shape):
        return None
    domain = Domain()
    for name, (low, high) in free.items():
        domain = domain.with_axis(name, low, high - low + 1)
    scope = Scope(domain, dict(fixed))
    found = _touched(access, scope, sizes)
    if found is None:
        return None
    elements = math.prod(map(len, found)) if isinstance(found, list) else len(found)
    size = byte_count(elements, buffer.dtype)
    return None if size is None else Touched(size)


def _fixed(expr: Expr, values: Mapping[str, int]) -> Expr:
    return Scope(Domain(), values).resolve(expr)


def sectors_per_request(
    access: Access,
    buffer: Buffer,
    thread_vars: Sequence[tuple[str, int]],
    fixed: Mapping[str, int],
    lanes: int = 32,
    sector_bytes: int = 32,
) -> int | None:
    """Sectors that the first warp touches with one execution of an access.

    `thread_vars` are the thread variables with their extents, fastest first (threadIdx.x, y, z);
    all other variables have the values of `fixed`.  None if an address is not known.
    """
    width = bits(buffer.dtype)
    if width is None:
        return None
    extents = [extent for _, extent in thread_vars]
    names = [name for name, _ in thread_vars]
    warp = itertools.islice(itertools.product(*(range(e) for e in reversed(extents))), lanes)
    sectors: set[int] = set()
    for values in warp:
        env = {**fixed, **dict(zip(names, reversed(values), strict=True))}
        try:
            if access.guard is not None and not evaluate(access.guard, env):
                continue
            address = evaluate(_address(access, buffer), env) * width // 8
        except UnknownValueError:
            return None
        last = address + max(1, access.lanes * width // 8) - 1
        sectors.update(range(address // sector_bytes, last // sector_bytes + 1))
    return len(sectors)


def _address(access: Access, buffer: Buffer) -> Expr:
    """The element offset of an access' lower corner."""
    if buffer.strides:
        parts = [("*", i, s) for i, s in zip(access.indices, buffer.strides, strict=True)]
        return ("+", buffer.element_offset, 0, *parts)
    flat: Expr = 0
    for index, size in zip(access.indices, buffer.shape, strict=True):
        flat = ("+", ("*", flat, size), index)
    return ("+", buffer.element_offset, flat)


__all__ = ["Touched", "compulsory_bytes", "footprint", "sectors_per_request"]
