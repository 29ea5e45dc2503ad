"""Accesses that provably leave their array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tirlens_counting.expressions import linear
from tirlens_counting.intervals import Interval
from tirlens_worker.facts import Access, Buffer, Expr, Span

from .scope import CountingScope

_VERBS = {"read": "read", "write": "written", "atomic": "updated"}


def accesses_outside(
    accesses: Iterable[tuple[Access, CountingScope]],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, tuple[Expr, ...]],
    sites: Mapping[int, tuple[Span, ...]],
) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """The accesses of which some iteration is outside the array, each as a message with its place.

    Nothing is said of arrays in shared memory and registers, whose elements instructions may
    address in ways of their own, of an access under a condition, of clipped copies, of an index
    that is not linear in the loop variables, and of an iteration domain that is not a box: there
    the bounds of the index may be those of an iteration that is not executed.

    Parameters
    ----------
    accesses
        The accesses of a kernel with the scopes of their statements.
    buffers, shapes
        The arrays by id, and their sizes.
    sites
        The source locations of each access by its identity.
    """
    for access, scope in accesses:
        domain, buffer, shape = scope.domain, buffers[access.buffer], shapes[access.buffer]
        if buffer.scope != "global" or buffer.alias_of is not None:
            continue
        if access.clipped or access.guard is not None or not scope.is_whole:
            continue
        if domain.guards or domain.predicates or domain.missing or domain.empty:
            continue
        if len(shape) != len(access.indices):
            continue
        for axis, (index, size) in enumerate(zip(access.indices, shape, strict=True)):
            extent = access.extents[axis] if access.extents else 1
            if not access.extents and axis == len(shape) - 1:
                extent = access.lanes
            if type(size) is not int or type(extent) is not int:
                continue
            attained = _attained_range(scope.resolve(index), domain.box)
            if attained is None or (attained[0] >= 0 and attained[1] + extent <= size):
                continue
            place = attained[0] if attained[0] < 0 else attained[1] + extent - 1
            message = (
                f"{buffer.name} is {_VERBS[access.mode]} outside: index {int(place)} of axis "
                f"{axis}, which has {size} elements"
            )
            yield message, sites.get(id(access), ())
            break


def _attained_range(index: Expr, box: Mapping[str, Interval]) -> tuple[float, float] | None:
    """The least and the largest value of a linear index over a box, which are both attained."""
    terms, constant = linear(index)
    low = high = float(constant)
    for term, factor in terms.items():
        interval = box.get(term) if isinstance(term, str) else None
        if interval is None:
            return None
        ends = (factor * interval[0], factor * interval[1])
        low, high = low + min(ends), high + max(ends)
    return low, high
