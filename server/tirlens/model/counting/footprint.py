"""The memory footprint of a kernel: the distinct bytes of global memory that it reads and writes.

The footprint of an array is the union of the images of its accesses: the sets of positions that
their index expressions take over the iteration domain.  It is the compulsory traffic (M. D. Hill,
"Aspects of Cache Memory and Instruction Buffer Performance", 1987: compulsory misses).  Memory
moves whole sectors, so the same sets are also counted in sectors: a position divided by the
elements of a sector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import (
    free_variables,
    is_data_dependent,
    simplify,
)
from tirlens_counting.images import Image, find_image
from tirlens_counting.intervals import bounds
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_counting.solver import Solver
from tirlens_counting.unit_images import count_units
from tirlens_worker.facts import Access, Buffer, Expr

from ..dtypes import bits
from .kernel_counter import KernelCounter
from .kernel_counts import ArrayBytes, Counts, Footprint, statement_counts
from .scope import CountingScope

# The variable that runs over the units of an element.
_UNIT_VARIABLE = "part of an element"

_ScopedAccess = tuple[Access, CountingScope]
_Images = Sequence[Image | None]
# Elements and bytes by mode, None where not known.
_Issued = Mapping[str, tuple[int, int] | None]


def compulsory_footprint(counter: KernelCounter, counts: Counts) -> Footprint | None:
    """The distinct bytes of global memory that a kernel reads, and those that it writes.

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
    roots = {name: _aliased_buffer(counter.buffers, name) for name in counter.buffers}
    roots = {name: root for name, root in roots.items() if counter.buffers[root].scope == "global"}
    by_root: dict[str, list[_ScopedAccess]] = {}
    for access, scope in counter.accesses:
        if access.buffer in roots:
            by_root.setdefault(roots[access.buffer], []).append((access, scope))
    arrays: list[_AccessedArray] = []
    issued = _issued_amounts(roots, counts)
    for root, accesses in by_root.items():
        shape = counts.buffers[root].shape
        found = None if shape is None else _accessed_array(root, shape, accesses, counter, issued)
        if found is None:
            return None
        arrays.append(found)
    # Data-dependent accesses are counted by an upper bound, which leaves a caveat.
    are_counts_exact = len(counts.caveats) == len(counter.facts.caveats)

    @cache
    def in_sectors(sector_bytes: int) -> ArrayBytes:
        read = {array.root: array.distinct_read_bytes(sector_bytes) for array in arrays}
        written = {array.root: array.written_bytes(sector_bytes) for array in arrays}
        bounded = frozenset(
            root
            for amounts in (read, written)
            for root, (_, is_exact) in amounts.items()
            if not is_exact
        )
        return ArrayBytes(
            {root: amount for root, (amount, _) in read.items() if amount},
            {root: amount for root, (amount, _) in written.items() if amount},
            are_counts_exact and not bounded,
            bounded,
        )

    least = {array.root: array.least_bytes() for array in arrays}
    return Footprint(in_sectors(0), least, in_sectors)


@dataclass(frozen=True)
class _AccessedArray:
    """An array with all accesses to it, in program order.

    Positions are in an array of `shape` whose elements have `unit_bits`; those of `has_views` are
    elements of other types.  `issued` has the elements and bytes that all accesses read and write,
    None where not known.
    """

    root: str
    shape: tuple[int, ...]
    unit_bits: int
    accesses: Sequence[_ScopedAccess]
    counter: KernelCounter
    has_views: bool
    issued: _Issued

    def distinct_read_bytes(self, sector_bytes: int) -> tuple[int, bool]:
        """Distinct bytes read, in whole sectors unless these have 0 bytes, and whether exact."""
        return self._distinct_bytes(self._read_images, sector_bytes, self.issued.get("read"))

    def written_bytes(self, sector_bytes: int) -> tuple[int, bool]:
        """Distinct bytes written, as `distinct_read_bytes`."""
        return self._distinct_bytes(self._written_images, sector_bytes, self.issued.get("write"))

    def least_bytes(self) -> int:
        """Bytes that any cache moves: without those read after the kernel has written them."""
        read, written = self.distinct_read_bytes(0)[0], self.written_bytes(0)[0]
        modes = [access.mode for access, _ in self.accesses]
        if "write" not in modes or not read:
            return read + written
        before = self._find_images(self.accesses[: modes.index("write")], "write")
        first = self._distinct_bytes(before, 0, None)[0]
        return written + min(read, max(first, read - written))

    @cached_property
    def _read_images(self) -> _Images:
        return self._find_images(self.accesses, "write")

    @cached_property
    def _written_images(self) -> _Images:
        return self._find_images(self.accesses, "read")

    def _find_images(self, accesses: Sequence[_ScopedAccess], other_mode: str) -> _Images:
        """The images of the accesses of another mode; None for each that is not known."""
        mine = [one for one in accesses if one[0].mode != other_mode]
        images = [self._image(access, scope) for access, scope in _merge_accesses(mine)]
        everything = math.prod(self.shape)
        whole = next((one for one in images if one is not None and one.size == everything), None)
        return images if whole is None else [whole]

    def _image(self, access: Access, scope: CountingScope) -> Image | None:
        if not self.has_views:
            return _access_image(access, scope, self.shape, self.counter.solver)
        data = self.shape[0], self.unit_bits
        return _flat_access_image(access, scope, self.root, data, self.counter)

    def _distinct_bytes(
        self, images: _Images, sector_bytes: int, issued: tuple[int, int] | None
    ) -> tuple[int, bool]:
        if not images:
            return 0, True
        per_sector, rest = divmod(8 * sector_bytes, self.unit_bits)
        in_elements = per_sector <= 1
        number, is_exact = self._count(images, 1 if in_elements else per_sector)
        # A condition on data may leave out some of them.
        is_exact = is_exact and all(scope.is_whole for _, scope in self.accesses)
        size = -(-number * (self.unit_bits if in_elements else 8 * sector_bytes) // 8)
        is_exact = is_exact and (in_elements or not rest)
        if issued is None:
            return size, is_exact
        # What is issued bounds the footprint of a gather from a large array.
        elements, issued_bytes = issued
        return min(size, max(elements * sector_bytes, issued_bytes)), is_exact

    def _count(self, images: _Images, per_unit: int) -> tuple[int, bool]:
        """Distinct units of so many elements, and whether that is exact."""
        known = [image for image in images if image is not None]
        if len(known) < len(images):
            return -(-math.prod(self.shape) // per_unit), False
        return count_units(known, self.shape, per_unit, self.counter.solver)


def _accessed_array(
    root: str,
    shape: tuple[int, ...],
    accesses: Sequence[_ScopedAccess],
    counter: KernelCounter,
    issued: Mapping[str, _Issued],
) -> _AccessedArray | None:
    """An array with its accesses; None where its type has no size."""
    unit = bits(counter.buffers[root].dtype)
    if unit is None:
        return None
    views = {access.buffer for access, _ in accesses} - {root}
    if views:
        # Views of several types: positions are in units that divide the elements of each type.
        whole = math.prod(shape) * unit
        widths = [bits(counter.buffers[name].dtype) for name in views]
        unit = math.gcd(unit, *(width for width in widths if width is not None))
        shape = (whole // unit,)
    return _AccessedArray(
        root, shape, unit, tuple(accesses), counter, bool(views), issued.get(root, {})
    )


def _issued_amounts(roots: Mapping[str, str], counts: Counts) -> dict[str, _Issued]:
    """Elements and bytes read and written of each root array; None where not known."""
    issued: dict[str, dict[str, tuple[int, int] | None]] = {}
    for leaf in statement_counts(counts.root):
        for entry in leaf.accesses:
            root = roots.get(entry.access.buffer)
            if root is None:
                continue
            totals = issued.setdefault(root, {"read": (0, 0), "write": (0, 0)})
            for mode, before in totals.items():
                if entry.access.mode not in (mode, "atomic") or before is None:
                    continue
                is_known = entry.elements is not None and entry.bytes is not None
                elements, size = entry.elements or 0, entry.bytes or 0
                totals[mode] = (before[0] + elements, before[1] + size) if is_known else None
    return dict(issued)


def _aliased_buffer(buffers: Mapping[str, Buffer], name: str) -> str:
    seen = {name}
    while (parent := buffers[name].alias_of) in buffers and parent not in seen:
        assert parent is not None
        seen.add(parent)
        name = parent
    return name


def _merge_accesses(
    accesses: Sequence[_ScopedAccess],
) -> list[_ScopedAccess]:
    """The accesses without duplicates, and with both sides of a branch merged into one domain.

    The two sides of a mask may be triangles, whose union is hard to count.
    """
    places: dict[object, list[_ScopedAccess]] = {}
    for access, scope in accesses:
        key = access.buffer, id(scope.env), access.indices, access.extents, access.lanes
        found = places.setdefault(key, [])
        if all(scope.domain is not other.domain for _, other in found):
            _add_merged(found, access, scope)
    return [each for found in places.values() for each in found]


def _add_merged(found: list[_ScopedAccess], access: Access, scope: CountingScope) -> None:
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
