"""Accesses to global memory whose neighbouring lanes are far apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirlens.advice.rule import Requests
from tirlens.model.dtypes import byte_count
from tirlens.model.tree.context import SECTOR_BYTES, LoopContext
from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Access, Buffer, Expr, Statement

#: A request that moves at least this many bytes for each byte that its lanes ask for is not
#: coalesced.  Unaligned but contiguous lanes need one sector more, at most 1.25 bytes a byte.
LEAST_EXCESS = 1.5


@dataclass(frozen=True)
class DistantAccess:
    """An access to global memory whose neighbouring lanes are in different sectors.

    Attributes
    ----------
    statement, access, buffer
        The statement, its access with names replaced by their values, and the array.
    distance_bytes
        The distance between the addresses of neighbouring lanes.
    dimension
        The dimension of the array along which neighbouring lanes go; None where they go along
        several.
    step
        The distance of neighbouring lanes along this dimension in elements.
    excess_bytes
        The bytes of the statement that sectors move and no lane asks for, over the whole launch.
    loops
        The parallel loops around the statement, whose iterations the lanes take; empty in a program
        for single threads.
    """

    statement: Statement
    access: Access
    buffer: Buffer
    distance_bytes: int
    dimension: int | None
    step: int
    excess_bytes: float
    loops: tuple[str, ...]


def distant_accesses(requests: Requests, buffers: Mapping[str, Buffer]) -> Iterator[DistantAccess]:
    """The accesses to global memory that are not coalesced."""
    for leaf, requested in requests:
        for access, request in zip(leaf.source.accesses, requested, strict=False):
            buffer = buffers[access.buffer]
            if request is None or buffer.scope != "global":
                continue
            offsets = request.lane_offsets
            size = byte_count(1, buffer.dtype) or 1
            asked = len(set(offsets)) * request.vector * size
            moved = request.sectors * SECTOR_BYTES
            if len(set(offsets)) < 2 or moved < LEAST_EXCESS * asked:
                continue
            pairs = itertools.pairwise(offsets)
            distance = next((abs(b - a) for a, b in pairs if a != b), 0)
            indices = tuple(leaf.context.resolve(index) for index in access.indices)
            steps = _lane_steps(indices, leaf.context)
            moving = [axis for axis, step in enumerate(steps) if step]
            yield DistantAccess(
                leaf.source,
                replace(access, indices=indices),
                buffer,
                int(distance * size),
                moving[0] if len(moving) == 1 else None,
                steps[moving[0]] if moving else 0,
                (moved / asked - 1) * (leaf.global_bytes or 0),
                _parallel_loops(leaf.context),
            )


def _parallel_loops(context: LoopContext) -> tuple[str, ...]:
    return tuple(loop.var for loop in context.loops if loop.kind == "parallel")


def _lane_steps(indices: Sequence[Expr], context: LoopContext) -> list[int]:
    """How far each index moves from one lane to the next; 0 where that is not known."""
    parallel = [loop for loop in context.loops if loop.kind == "parallel" and loop.extent != 1]
    first = context.first_values
    here: dict[str, Any] = dict(first)
    if parallel:
        lane = parallel[-1].var
        there = {**here, lane: first.get(lane, 0) + 1}
    else:
        warp = context.first_warp_values
        there = {
            name: values[1] if getattr(values, "ndim", 0) and len(values) > 1 else values
            for name, values in warp.items()
        }
    return [_difference(index, here, there) for index in indices]


def _difference(index: Expr, here: Mapping[str, Any], there: Mapping[str, Any]) -> int:
    try:
        return int(evaluate(index, there)) - int(evaluate(index, here))
    except (UnknownValueError, ZeroDivisionError, ValueError, TypeError):
        return 0
