"""The memory footprint of a kernel: the distinct bytes of global memory that it accesses.

The footprint of an array is the union of the images of its accesses: the sets of positions that
their index expressions take over the iteration domain.  It is the compulsory traffic (M. D. Hill,
"Aspects of Cache Memory and Instruction Buffer Performance", 1987: compulsory misses).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import (
    free_variables,
    is_data_dependent,
    simplify,
)
from tirlens_counting.image_unions import count_union
from tirlens_counting.images import Image, find_image
from tirlens_counting.intervals import bounds
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_counting.solver import Solver
from tirlens_worker.facts import Access, Buffer, Expr

from ..dtypes import bits
from .kernel_counter import KernelCounter
from .kernel_counts import Counts, Footprint, statement_counts
from .scope import CountingScope

# The variable that runs over the units of an element.
_UNIT_VARIABLE = "part of an element"


def compulsory_footprint(counter: KernelCounter, counts: Counts) -> Footprint | None:
    """The distinct bytes of global memory that a kernel reads or writes.

    Parameters
    ----------
    counter
        The counter of the kernel, after it has counted.
    counts
        Its counts.

    Returns
    -------
    The footprint in bytes, or None where the shape of an array is not bound.
    """
    by_root: dict[str, list[tuple[Access, CountingScope]]] = {}
    roots = {name: _aliased_buffer(counter.buffers, name) for name in counter.buffers}
    roots = {name: root for name, root in roots.items() if counter.buffers[root].scope == "global"}
    for access, scope in counter.accesses:
        if access.buffer in roots:
            by_root.setdefault(roots[access.buffer], []).append((access, scope))
    issued = _issued_bytes(roots, counts)
    # Data-dependent accesses are counted by an upper bound, which leaves a caveat.
    exact = len(counts.caveats) == len(counter.facts.caveats)
    by_buffer: dict[str, int] = {}
    for root, accesses in by_root.items():
        shape = counts.buffers[root].shape
        if shape is None:
            return None
        found = _distinct_bits(root, shape, accesses, counter)
        if found is None:
            return None
        size, known = -(-found[0] // 8), found[1]
        # The issued bytes bound the footprint of a gather from a large array.
        by_buffer[root] = min(size, issued.get(root, size))
        exact = exact and known
    return Footprint(sum(by_buffer.values()), exact, by_buffer)


def _issued_bytes(roots: Mapping[str, str], counts: Counts) -> dict[str, int]:
    """Issued bytes of each root array; an array without a known number has no entry."""
    issued: dict[str, int | None] = {}
    for leaf in statement_counts(counts.root):
        for entry in leaf.accesses:
            root = roots.get(entry.access.buffer)
            if root is None:
                continue
            before = issued.get(root, 0)
            known = None if entry.bytes is None or before is None else before + entry.bytes
            issued[root] = known
    return {root: amount for root, amount in issued.items() if amount is not None}


def _aliased_buffer(buffers: Mapping[str, Buffer], name: str) -> str:
    seen = {name}
    while (parent := buffers[name].alias_of) in buffers and parent not in seen:
        assert parent is not None
        seen.add(parent)
        name = parent
    return name


def _distinct_bits(
    root: str,
    shape: tuple[int, ...],
    accesses: Sequence[tuple[Access, CountingScope]],
    counter: KernelCounter,
) -> tuple[int, bool] | None:
    """Distinct bits of one buffer, and whether that is exact; None where its type has no size."""
    unit = bits(counter.buffers[root].dtype)
    if unit is None:
        return None
    views = {access.buffer for access, _ in accesses} - {root}
    if views:
        # Views of several types: positions are in units that divide the elements of each type.
        whole = math.prod(shape) * unit
        widths = [bits(counter.buffers[name].dtype) for name in views]
        if None in widths:
            return whole, False
        unit = math.gcd(unit, *(width for width in widths if width is not None))
        shape = (whole // unit,)
    size = math.prod(shape)
    images: list[Image] = []
    for access, scope in _merge_accesses(accesses):
        if views:
            found = _flat_access_image(access, scope, root, (size, unit), counter)
        else:
            found = _access_image(access, scope, shape, counter.solver)
        if found is None:
            return size * unit, False
        if found.size == size:
            return size * unit, True
        images.append(found)
    number, known = count_union(images, shape)
    return number * unit, known


def _merge_accesses(
    accesses: Sequence[tuple[Access, CountingScope]],
) -> list[tuple[Access, CountingScope]]:
    """The accesses without duplicates, and with both sides of a branch merged into one domain.

    The two sides of a mask may be triangles, whose union is hard to count.
    """
    places: dict[object, list[tuple[Access, CountingScope]]] = {}
    for access, scope in accesses:
        key = access.buffer, id(scope.env), access.indices, access.extents, access.lanes
        found = places.setdefault(key, [])
        if all(scope.domain is not other.domain for _, other in found):
            _add_merged(found, access, scope)
    return [each for found in places.values() for each in found]


def _add_merged(
    found: list[tuple[Access, CountingScope]], access: Access, scope: CountingScope
) -> None:
    for number, (_, other) in enumerate(found):
        both = other.domain.union_with(scope.domain)
        if both is not None:
            del found[number]
            # The merged sides may complete an outer branch.
            _add_merged(found, access, replace(scope, domain=both))
            return
    found.append((access, scope))


def _access_image(
    access: Access, scope: CountingScope, shape: tuple[int, ...], solver: Solver
) -> Image | None:
    """The elements of an access inside the array; None if too many or not known."""
    placed = _coordinates(access, scope, shape)
    return None if placed is None else _image(*placed, shape, solver)


def _flat_access_image(
    access: Access, scope: CountingScope, root: str, data: tuple[int, int], counter: KernelCounter
) -> Image | None:
    """The image of an access through a view of `root`, in units of its flat data.

    `data` is the number of units and the bits of one.
    """
    size, unit = data
    buffer = counter.buffers[access.buffer]
    shape = [size for size in counter.shapes[access.buffer] if isinstance(size, int)]
    width = bits(buffer.dtype)
    if len(shape) < len(buffer.shape) or width is None:
        return None
    placed = _coordinates(access, scope, tuple(shape))
    if placed is None:
        return None
    domain, coordinates = placed
    strides = [scope.resolve(stride) for stride in buffer.strides]
    strides = strides or [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    offset = scope.resolve(buffer.element_offset) if access.buffer != root else 0
    position: Expr = offset
    for coordinate, stride in zip(coordinates, strides, strict=True):
        position = ("+", position, ("*", coordinate, stride))
    if width > unit:
        domain = domain.with_axis(_UNIT_VARIABLE, 0, width // unit)
        position = ("+", ("*", position, width // unit), _UNIT_VARIABLE)
    position = simplify(position)
    return _image(_clip_to_array(domain, position, size), [position], (size,), counter.solver)


def _coordinates(
    access: Access, scope: CountingScope, shape: tuple[int, ...]
) -> tuple[Domain, list[Expr]] | None:
    """The coordinates of an access inside `shape`, and their domain."""
    domain = scope.domain
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
        domain = _clip_to_array(domain, position, shape[axis])
        coordinates.append(position)
    return domain, coordinates


def _clip_to_array(domain: Domain, position: Expr, size: int) -> Domain:
    low, high = bounds(position, domain.box)
    if low >= 0 and high < size:
        return domain
    return domain.under_condition(
        simplify_in_ranges(("and", (">=", position, 0), ("<", position, size)), domain.box)
    )


def _image(
    domain: Domain, coordinates: Sequence[Expr], shape: tuple[int, ...], solver: Solver
) -> Image | None:
    if domain.empty:
        return Image({axis: range(0) for axis in range(len(shape))})
    if domain.missing or not set().union(*map(free_variables, coordinates), ()) <= set(domain.box):
        return None
    return find_image(domain.problem, coordinates, shape, solver)
