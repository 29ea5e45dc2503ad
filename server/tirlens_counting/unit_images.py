"""How many aligned units, such as sectors of memory, hold the positions of several images.

Positions are elements of a row-major array that starts at the beginning of a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from .arrays import np
from .image_unions import count_union, distinct_images, join_products
from .images import DependentPositions, Image, Side, find_image
from .solver import Solver

# The most coordinates of one dimension that are listed.
_MAX_COORDINATES = 4_000_000


def count_units(
    images: Sequence[Image], shape: Sequence[int], per_unit: int, solver: Solver
) -> tuple[int, bool]:
    """Distinct units of `per_unit` elements of an array, and whether the number is exact.

    Where it is not, it is an upper bound.
    """
    if per_unit == 1:
        return count_union(images, shape)
    size = math.prod(shape)
    everything = -(-size // per_unit)
    distinct = distinct_images(images)
    if not distinct:
        return 0, True
    if any(image.size == size for image in distinct):
        return everything, True
    if len(shape) == 1 or shape[-1] % per_unit == 0:
        in_units = (*shape[:-1], -(-shape[-1] // per_unit))
        found = [_image_in_units(image, in_units, per_unit, solver) for image in distinct]
        known = [image for image in found if image is not None]
        if len(known) == len(found):
            return count_union(known, in_units, (*(1 for _ in shape[1:]), per_unit))
    distinct = join_products(distinct)
    if len(distinct) == 1 and not distinct[0].dependent:
        return _count_product_units(distinct[0], shape, per_unit), True
    most = sum(
        image.size if image.dependent else _count_product_units(image, shape, per_unit)
        for image in distinct
    )
    return min(most, everything), False


def _image_in_units(
    image: Image, in_units: Sequence[int], per_unit: int, solver: Solver
) -> Image | None:
    """The units of an image whose rows start at units; None where they are not known."""
    last = len(in_units) - 1
    if last in image.sides:
        side = _side_in_units(image.sides[last], per_unit)
        return None if side is None else replace(image, sides={**image.sides, last: side})
    sides = dict(image.sides)
    dependent: list[DependentPositions] = []
    for tied in image.dependent:
        if last not in tied.axes:
            dependent.append(tied)
            continue
        positions = [
            ("//", position, per_unit) if axis == last else position
            for axis, position in zip(tied.axes, tied.positions, strict=True)
        ]
        found = find_image(tied.points, positions, [in_units[axis] for axis in tied.axes], solver)
        if found is None:
            return None
        sides |= {tied.axes[axis]: side for axis, side in found.sides.items()}
        dependent += (
            replace(one, axes=tuple(tied.axes[axis] for axis in one.axes))
            for one in found.dependent
        )
    return Image(sides, tuple(dependent))


def _side_in_units(side: Side, per_unit: int) -> Side | None:
    """The units of the coordinates of one dimension, in order; None for too many."""
    if isinstance(side, range):
        if not side:
            return side
        if side.step <= per_unit:
            return range(side[0] // per_unit, side[-1] // per_unit + 1)
        if side.step % per_unit == 0:
            first = side[0] // per_unit
            step = side.step // per_unit
            return range(first, first + len(side) * step, step)
        if len(side) > _MAX_COORDINATES:
            return None
        side = np.arange(side.start, side.stop, side.step, dtype=np.int64)
    units = side // per_unit
    return units[np.append(True, units[1:] != units[:-1])]


class _Units(NamedTuple):
    """How many units rows touch, and the first and the last of them."""

    number: int
    first: int
    last: int


def _count_product_units(image: Image, shape: Sequence[int], per_unit: int) -> int:
    """The units of a product of coordinates, whatever the length of the rows.

    What a row touches depends on the offset of its start in a unit alone, so each dimension is a
    sum over few offsets, less the units that neighbouring rows share.
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

    @cache
    def units_from(axis: int, offset: int) -> _Units:
        """What the positions in the dimensions from `axis` on touch, the first at `offset`."""
        if axis == len(shape):
            return _Units(1, 0, 0)
        side, stride = image.sides[axis], strides[axis]

        def sum_rows(coordinates: Iterable[int]) -> _Units:
            number, begin, end = 0, None, -1
            for coordinate in coordinates:
                unit, inside = divmod(offset + int(coordinate) * stride, per_unit)
                row = units_from(axis + 1, inside)
                number += row.number - (begin is not None and unit + row.first == end)
                begin = unit + row.first if begin is None else begin
                end = unit + row.last
            return _Units(number, begin or 0, end)

        if not isinstance(side, range):
            return sum_rows(side.tolist())
        # The offsets of rows repeat after so many of them.
        period = per_unit // math.gcd(side.step * stride, per_unit)
        whole, rest = divmod(len(side) - 1, period)
        some = sum_rows(side[: rest + 1])
        if not whole:
            return some
        cycle = range(side.start, side.start + side.step * (period + 1), side.step)
        around = (
            sum_rows(cycle).number
            - units_from(axis + 1, (offset + cycle[-1] * stride) % per_unit).number
        )
        ahead = whole * period * side.step * stride // per_unit
        return _Units(some.number + whole * around, some.first, some.last + ahead)

    return units_from(0, 0).number
