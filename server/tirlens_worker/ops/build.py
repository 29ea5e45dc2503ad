"""Constructors of facts for the handlers of operations."""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Tuple

from ..facts import Access, AccessMode, Call, Executor, Expr, Route, Statement
from .registry import Context, Region

WARP = 32

_NUMBER = (int, float)


def times(*factors: Expr) -> Expr:
    """The product; constant factors are folded."""
    constant = 1
    rest: Optional[Expr] = None
    for factor in factors:
        if isinstance(factor, int):
            constant *= factor
        else:
            rest = factor if rest is None else ("*", rest, factor)
    if rest is None or constant == 0:
        return constant
    return rest if constant == 1 else ("*", rest, constant)


def plus(left: Expr, right: Expr) -> Expr:
    """The sum; no addition of 0, constants are folded."""
    if isinstance(left, _NUMBER) and isinstance(right, _NUMBER):
        return left + right
    if left == 0:
        return right
    return left if right == 0 else ("+", left, right)


def elements(region: Region) -> Expr:
    """The number of elements of a region."""
    return times(*region.extents)


def elements_inside(context: Context, *regions: Region) -> Expr:
    """The number of elements of equally sized boxes inside the bounds of the first global array.

    The lowered loop predicates elements outside the bounds, with the arithmetic on them
    (``MakePredicate`` in tilelang's ``src/op/copy.cc``).
    """
    region = next((one for one in regions if one.buffer.scope == "global"), regions[0])
    if region.buffer.scope != "global":
        return elements(region)
    sides = zip(region.indices, region.extents, region.buffer.shape)
    return times(*(context.clip(index, extent, size) for index, extent, size in sides))


def access(region: Region, mode: AccessMode, route: Route, guard: Optional[Expr] = None) -> Access:
    """One access of the whole region; elements outside a global array are not accessed."""
    return Access(
        buffer=region.buffer.id,
        mode=mode,
        indices=region.indices,
        extents=region.extents,
        guard=guard,
        clipped=region.buffer.scope == "global",
        route=route,
    )


def lanes(region: Region, mode: AccessMode, route: Route, count: int) -> Access:
    """One access of `count` adjacent elements that start at the region's corner."""
    return Access(
        buffer=region.buffer.id, mode=mode, indices=region.indices, lanes=count, route=route
    )


def registers(call: Any, context: Context, mode: AccessMode) -> Iterator[Access]:
    """The registers of a thread among the operands; adjacent registers are one access."""
    run: List[Region] = []
    for region in map(context.region, call.args):
        if region is None or region.buffer.scope != "local" or len(region.indices) != 1:
            continue
        if run and not (
            region.buffer.id == run[0].buffer.id
            and region.indices[0] == plus(run[0].indices[0], len(run))
        ):
            yield lanes(run[0], mode, "thread", len(run))
            run = []
        run.append(region)
    if run:
        yield lanes(run[0], mode, "thread", len(run))


def executor(*regions: Region) -> Executor:
    """The executor of a tile operation: ``thread`` if an array is private to threads.

    A ``local`` array (not a ``local.fragment``) is private to each thread; tilelang lowers an
    operation on it to a loop that every thread executes (``IsLocalBuffer`` in ``src/op/copy.cc``).
    """
    private = any(region.buffer.scope in ("local", "local.var") for region in regions)
    return "thread" if private else "block"


def label(name: str, *operands: Optional[Region]) -> str:
    """``T.copy(A, A_shared)``."""
    return "T.{}({})".format(name, ", ".join(region.buffer.name for region in operands if region))


def binary_log(value: int) -> int:
    """The binary logarithm of `value`, rounded up."""
    return max(value - 1, 0).bit_length()


def not_understood(call: Any, context: Context, what: str) -> Statement:
    """A statement of unknown cost, with a caveat; `what` is the unknown part of the call."""
    context.add_caveat("{}: {}; its cost is left out".format(call.op.name, what))
    return Call(label=short_name(call.op.name))


def short_name(name: str) -> str:
    """The last part of an operation's name: ``tl.tileop.copy`` -> ``copy``."""
    return name.rsplit(".", 1)[-1]


def hints_of(call: Any) -> Mapping[str, Any]:
    """The annotations of the call by name; empty if the framework version has none."""
    found = getattr(call, "annotations", None)
    return {} if found is None else {str(key): value for key, value in found.items()}


_BITS = re.compile(r"(\d+)")
_LANES = re.compile(r"x(\d+)$")


def bits(dtype: str) -> int:
    """The bits of one element of `dtype`: 128 of ``uint32x4``, 8 of ``bool``, 64 of a handle."""
    if dtype in ("bool", "handle"):
        return 8 if dtype == "bool" else 64
    found, vector = _BITS.search(dtype), _LANES.search(dtype)
    return (int(found.group(1)) if found else 8) * (int(vector.group(1)) if vector else 1)


def regions(context: Context, nodes: Iterable[Any]) -> Tuple[Optional[Region], ...]:
    """The boxes that arguments denote; None for an argument that denotes none."""
    return tuple(context.region(node) for node in nodes)
