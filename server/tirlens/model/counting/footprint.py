"""Distinct elements that a kernel touches: its compulsory traffic, and requests of one warp."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    simplify,
)
from tirlens_counting.images import Image, image
from tirlens_counting.intervals import bounds
from tirlens_counting.solve import Solver
from tirlens_counting.unions import union_size
from tirlens_counting.within import within
from tirlens_worker.facts import Access, Buffer, Expr, KernelFacts

from ..dtypes import bits, byte_count
from .counts_data import Counts, statement_counts
from .kernel_counter import KernelCounter
from .scope import CountingScope

# The variable that runs over the units of an element.
_UNIT_VARIABLE = "part of an element"


@dataclass(frozen=True)
class Footprint:
    """Distinct bytes, in all and by array; `exact` is False where they are only an upper bound."""

    bytes: int
    exact: bool = True
    by_buffer: Mapping[str, int] = field(default_factory=dict[str, int])


def compulsory_bytes(facts: KernelFacts, bindings: Mapping[str, int]) -> Footprint | None:
    """Every byte of global memory that is read or written, each once.

    None where a shape is not bound.
    """
    walker = KernelCounter(facts, bindings)
    return compulsory_footprint(walker, walker.counts())


def compulsory_footprint(walker: KernelCounter, counts: Counts) -> Footprint | None:
    """`compulsory_bytes` of what `walker` has counted."""
    by_root: dict[str, list[tuple[Access, CountingScope]]] = {}
    roots = {name: _aliased_buffer(walker.buffers, name) for name in walker.buffers}
    roots = {name: root for name, root in roots.items() if walker.buffers[root].scope == "global"}
    for access, scope in walker.accesses:
        if access.buffer in roots:
            by_root.setdefault(roots[access.buffer], []).append((access, scope))
    issued = _issued_bytes(roots, counts)
    # What depends on data was counted as an upper bound, and left a caveat.
    exact = len(counts.caveats) == len(walker.facts.caveats)
    by_buffer: dict[str, int] = {}
    for root, accesses in by_root.items():
        shape = counts.buffers[root].shape
        if shape is None:
            return None
        found = _distinct_bits(root, shape, accesses, walker)
        if found is None:
            return None
        size, known = -(-found[0] // 8), found[1]
        # No byte is touched that is not asked for; this bounds a gather from a large array.
        by_buffer[root] = min(size, issued.get(root, size))
        exact = exact and known
    return Footprint(sum(by_buffer.values()), exact, by_buffer)


def _issued_bytes(roots: Mapping[str, str], counts: Counts) -> dict[str, int]:
    """Bytes asked for of each of the `roots`; one of which they are not known has no entry."""
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
    walker: KernelCounter,
) -> tuple[int, bool] | None:
    """Distinct bits of one buffer, and whether that is exact; None where its type has no size."""
    unit = bits(walker.buffers[root].dtype)
    if unit is None:
        return None
    views = {access.buffer for access, _ in accesses} - {root}
    if views:
        # Through views positions are on the flat data, in parts of the elements of all types.
        whole = math.prod(shape) * unit
        widths = [bits(walker.buffers[name].dtype) for name in views]
        if None in widths:
            return whole, False
        unit = math.gcd(unit, *(width for width in widths if width is not None))
        shape = (whole // unit,)
    size = math.prod(shape)
    images: list[Image] = []
    for access, scope in _merge_accesses(accesses):
        if views:
            found = _flat_access_image(access, scope, root, (size, unit), walker)
        else:
            found = _access_image(access, scope, shape, walker.solver)
        if found is None:
            return size * unit, False
        if found.size == size:
            return size * unit, True
        images.append(found)
    number, known = union_size(images, shape)
    return number * unit, known


def _merge_accesses(
    accesses: Sequence[tuple[Access, CountingScope]],
) -> list[tuple[Access, CountingScope]]:
    """The accesses, once those of one place at the same points or on both sides of a branch.

    The two sides of a mask are triangles, say, of which the union would be hard to count.
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
        both = other.domain.either(scope.domain)
        if both is not None:
            del found[number]
            # The sides of an outer branch may meet now.
            _add_merged(found, access, replace(scope, domain=both))
            return
    found.append((access, scope))


def _access_image(
    access: Access, scope: CountingScope, shape: tuple[int, ...], solver: Solver
) -> Image | None:
    """The elements of an access that lie inside the array; None if too many or not known."""
    placed = _coordinates(access, scope, shape)
    return None if placed is None else _image(*placed, shape, solver)


def _flat_access_image(
    access: Access, scope: CountingScope, root: str, data: tuple[int, int], walker: KernelCounter
) -> Image | None:
    """The same of an access through a view of the array `root`, as positions on its data.

    `data` is how many units there are, and of how many bits each.
    """
    size, unit = data
    buffer = walker.buffers[access.buffer]
    shape = [size for size in walker.shapes[access.buffer] if isinstance(size, int)]
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
    return _image(_clip_to_array(domain, position, size), [position], (size,), walker.solver)


def _coordinates(
    access: Access, scope: CountingScope, shape: tuple[int, ...]
) -> tuple[Domain, list[Expr]] | None:
    """The coordinates of an access that lie inside `shape`, and where they are taken."""
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
    return domain.where(within(("and", (">=", position, 0), ("<", position, size)), domain.box))


def _image(
    domain: Domain, coordinates: Sequence[Expr], shape: tuple[int, ...], solver: Solver
) -> Image | None:
    if domain.empty:
        return Image({axis: range(0) for axis in range(len(shape))})
    if domain.missing or not set().union(*map(free_variables, coordinates), ()) <= set(domain.box):
        return None
    return image(domain.problem, coordinates, shape, solver)


def footprint(
    access: Access, buffer: Buffer, free: Mapping[str, tuple[int, int]], fixed: Mapping[str, int]
) -> Footprint | None:
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
    scope = CountingScope(domain, dict(fixed))
    found = _access_image(access, scope, sizes, Solver())
    size = None if found is None else byte_count(found.size, buffer.dtype)
    return None if size is None else Footprint(size)


def _fixed(expr: Expr, values: Mapping[str, int]) -> Expr:
    return CountingScope(Domain(), values).resolve(expr)


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


__all__ = ["Footprint", "compulsory_bytes", "footprint", "sectors_per_request"]
