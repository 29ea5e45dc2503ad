"""How many positions several images cover together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import TypeGuard

from .arrays import np, npt
from .images import Image, Mask, Side

# Largest grid of cells that is filled in.
CELL_LIMIT = 4_000_000
_FEW_LINES = 4096


def count_union(
    images: Sequence[Image], shape: Sequence[int], scales: Sequence[int] = ()
) -> tuple[int, bool]:
    """Distinct positions of all images inside `shape`, and whether the number is exact.

    Where it is not, it is an upper bound.  `scales` are the lengths of a step along each
    dimension, by default 1, for dimensions of the same size in different units.
    """
    everything = math.prod(shape)
    distinct = distinct_images(images)
    if not distinct:
        return 0, True
    largest = max(item.size for item in distinct)
    if len(distinct) == 1 or largest == everything:
        return largest, True
    scales = scales or (1,) * len(shape)
    if all(are_disjoint(one, other, scales) for one, other in combinations(distinct, 2)):
        return sum(item.size for item in distinct), True
    cells = _cells(distinct, shape)
    if cells is None:
        return min(everything, sum(item.size for item in distinct)), False
    return cells, True


def distinct_images(images: Sequence[Image]) -> list[Image]:
    """The images that have positions, equal ones once."""
    return list({_key(item): item for item in images if item.size}.values())


def join_products(images: Sequence[Image]) -> list[Image]:
    """`images` with one for those that differ in the coordinates of one dimension alone.

    An example are the fields of a record, whose rows are the same.
    """
    joined = list(images)
    for axis in sorted({axis for image in images for axis in image.sides}, reverse=True):
        groups: dict[object, list[Image]] = {}
        for image in joined:
            others = {other: side for other, side in image.sides.items() if other != axis}
            key = _key(replace(image, sides=others)), axis in image.sides
            groups.setdefault(key, []).append(image)
        joined = [image for group in groups.values() for image in _join_along(group, axis)]
    return joined


def _join_along(group: Sequence[Image], axis: int) -> Sequence[Image]:
    """One image of those in `group`, which differ along `axis`; all for too many coordinates."""
    if len(group) == 1 or sum(len(image.sides[axis]) for image in group) > CELL_LIMIT:
        return group
    sides = np.concatenate([_coordinates(image.sides[axis]) for image in group])
    return [replace(group[0], sides={**group[0].sides, axis: _sort_distinct(sides)})]


def are_disjoint(one: Image, other: Image, scales: Sequence[int]) -> bool:
    """Whether two images surely have no position in common.

    They have none where one dimension, or the difference of two, takes other values: so are the
    triangles on both sides of a diagonal.  `scales` are those of `count_union`.
    """
    for axis, side in one.sides.items():
        theirs = other.sides.get(axis)
        if theirs is not None and _are_sides_disjoint(side, theirs):
            return True
    for mine in one.dependent:
        for theirs in other.dependent:
            for axes in combinations(sorted({*mine.axes} & {*theirs.axes}), 2):
                low, high = mine.difference_range(*axes, scales)
                least, most = theirs.difference_range(*axes, scales)
                if high < least or most < low:
                    return True
    return False


def _are_sides_disjoint(one: Side, other: Side) -> bool:
    """Whether two ranges of coordinates do not overlap, or interleave."""
    if one[-1] < other[0] or other[-1] < one[0]:
        return True
    if not isinstance(one, range) or not isinstance(other, range):
        return False
    return (one.start - other.start) % math.gcd(one.step, other.step) != 0


def _key(item: Image) -> object:
    sides = tuple((axis, _side_key(side)) for axis, side in sorted(item.sides.items()))
    return sides, tuple((tied.axes, tied.key) for tied in item.dependent)


def _side_key(side: Side) -> object:
    return side if isinstance(side, range) else side.tobytes()


def _cells(images: Sequence[Image], shape: Sequence[int]) -> int | None:
    """The size of the union, on a grid that has a line wherever the images differ."""
    common = 1
    cuts: dict[int, npt.NDArray[np.int64]] = {}
    for axis in range(len(shape)):
        sides = [item.sides[axis] for item in images if axis in item.sides]
        if len(sides) == len(images) and len({_side_key(side) for side in sides}) == 1:
            common *= len(sides[0])
            continue
        hulls = [t.hull[t.axes.index(axis)] for i in images for t in i.dependent if axis in t.axes]
        lines = sum(2 if _is_interval(side) else len(side) for side in sides)
        # Where there are as many lines as coordinates, each coordinate is a cell.
        dense = bool(hulls) or lines > min(shape[axis], _FEW_LINES)
        if dense and shape[axis] > CELL_LIMIT:
            return None
        edges = [np.zeros(1, dtype=np.int64), *(() if dense else map(_edges, sides))]
        cuts[axis] = np.arange(shape[axis] + 1) if dense else _sort_distinct(np.concatenate(edges))
    if math.prod(map(len, cuts.values())) > CELL_LIMIT:
        return None
    axes = list(cuts)
    seen = np.zeros([len(cuts[axis]) for axis in axes], dtype=bool)
    for item in images:
        factors = _factors(item, axes, cuts)
        if factors is None:
            return None
        seen |= reduce(np.logical_and, factors)
    # The last cell of each axis has no end and is never covered.
    weights = [np.diff(cuts[axis], append=cuts[axis][-1]) for axis in axes]
    total = seen.astype(np.int64)
    for weight in reversed(weights):
        total = total @ weight
    return common * int(total)


def _edges(side: Side) -> npt.NDArray[np.int64]:
    """The coordinates at which membership in `side` changes, and perhaps others."""
    if _is_interval(side):
        return np.array([side.start, side.stop])
    values = _coordinates(side)
    return np.concatenate([values, values + 1])


def _sort_distinct(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The distinct values in order (`np.unique` loads a part of numpy that nothing else needs)."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])]


def _is_interval(side: Side) -> TypeGuard[range]:
    return isinstance(side, range) and side.step == 1


def _coordinates(side: Side) -> npt.NDArray[np.int64]:
    return np.arange(side.start, side.stop, side.step) if isinstance(side, range) else side


def _factors(
    item: Image, axes: Sequence[int], cuts: dict[int, npt.NDArray[np.int64]]
) -> list[Mask] | None:
    """Masks over the cells, to be multiplied: one a dimension, or one of tied dimensions."""
    masks: list[Mask] = []
    for position, axis in enumerate(axes):
        if axis in item.sides:
            mask = _cells_of(item.sides[axis], cuts[axis])
            masks.append(np.expand_dims(mask, [p for p in range(len(axes)) if p != position]))
    for tied in item.dependent:
        inner = tied.mask()
        if inner is None:
            return None
        padded = np.zeros([len(cuts[axis]) for axis in tied.axes], dtype=bool)
        lines = [
            np.searchsorted(cuts[axis], _coordinates(side))
            for axis, side in zip(tied.axes, tied.hull, strict=True)
        ]
        padded[np.ix_(*lines)] = inner
        places = [axes.index(axis) for axis in tied.axes]
        others = [position for position in range(len(axes)) if position not in places]
        masks.append(np.expand_dims(np.transpose(padded, np.argsort(places)), others))
    return masks


def _cells_of(side: Side, cuts: npt.NDArray[np.int64]) -> Mask:
    if _is_interval(side):
        return (cuts >= side.start) & (cuts < side.stop)
    mask = np.zeros(len(cuts), dtype=bool)
    mask[np.searchsorted(cuts, _coordinates(side))] = True
    return mask
