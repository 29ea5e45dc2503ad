"""Shared memory of one block, estimated from its source.

tilelang gives buffers that are never needed at the same time one place.  What is needed when, it
tells by the statements of the block itself: all that stands in one loop or branch of the block is
needed together.  A buffer that a pipelined loop loads into exists once for each stage.

Source: tilelang ``src/transform/merge_shared_memory_allocations.cc`` (its accesses count where the
buffer is allocated, at the level of the block), ``src/transform/inject_pipeline.cc``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens_worker.facts import Buffer, Copy, Loop

from ...counting.kernel_counts import Counts
from ...dtypes import byte_count
from ...tree.node import CostNode
from .ahead import copies_elements

_BINDINGS = frozenset({"grid", "cluster", "block"})
# Barriers and tensor memory have places of their own.
_ELSEWHERE = frozenset({"shared.barrier", "shared.cluster_barrier", "shared.tmem"})


@dataclass
class _Use:
    """`first` and `last` number the statements of the block that need a buffer."""

    bytes: int
    first: int
    last: int
    stages: int = 1


def shared_bytes(counts: Counts, items: Sequence[CostNode]) -> int:
    """The most bytes that the buffers of a block take at the same time."""
    uses: dict[str, _Use] = {}
    statements = _of_block(items)
    for number, statement in enumerate(statements):
        for leaf in statement.leaves():
            for entry in leaf.count.accesses:
                _note(uses, entry.buffer, counts, number)
    for name, stages in _stages(items):
        if name in uses:
            uses[name].stages = max(uses[name].stages, stages)
    return max(
        (
            sum(use.bytes * use.stages for use in uses.values() if use.first <= now <= use.last)
            for now in range(len(statements))
        ),
        default=0,
    )


def _of_block(items: Sequence[CostNode]) -> Sequence[CostNode]:
    """The statements that each block executes in turn, inside the loops over blocks and threads."""
    while (
        len(items) == 1 and isinstance(items[0].source, Loop) and items[0].source.kind in _BINDINGS
    ):
        items = items[0].children
    return items


def _note(uses: dict[str, _Use], buffer: Buffer, counts: Counts, number: int) -> None:
    if not buffer.scope.startswith("shared") or buffer.scope in _ELSEWHERE:
        return
    name = buffer.alias_of or buffer.id
    known = counts.buffers.get(name)
    if known is None or known.shape is None:
        return
    size = byte_count(_elements(known.buffer, known.shape), known.buffer.dtype) or 0
    use = uses.setdefault(name, _Use(size, number, number))
    use.last = number


def _elements(buffer: Buffer, shape: Sequence[int]) -> int:
    """The elements that an array takes, with the padding of its rows if it says so.

    Source: TVM's ``LowerOpaqueBlock``, which allocates as many as the first axis has of its stride.
    """
    first = next(iter(buffer.strides), None)
    return shape[0] * first if shape and isinstance(first, int) else math.prod(shape)


def _stages(items: Sequence[CostNode]) -> Iterator[tuple[str, int]]:
    """The buffers that pipelined loops load from global memory, and the stages of their loops."""
    for loop in pipelines(items):
        for leaf in loop.leaves():
            if not leaf.read_bytes or not (isinstance(leaf.source, Copy) or copies_elements(leaf)):
                continue
            for entry in leaf.count.accesses:
                if entry.access.mode == "write" and entry.buffer.scope.startswith("shared"):
                    yield entry.buffer.alias_of or entry.buffer.id, stage_count(loop)


def pipelines(items: Sequence[CostNode]) -> Iterator[CostNode]:
    """The pipelined loops, outer ones first."""
    for item in items:
        if isinstance(item.source, Loop) and item.source.kind == "pipelined":
            yield item
        yield from pipelines(item.children)


def stage_count(item: CostNode) -> int:
    """The stages of a pipelined loop, 0 where none are asked for."""
    stages = item.source.annotations.get("num_stages", 0)
    return stages if isinstance(stages, int) else 0
