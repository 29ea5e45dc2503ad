"""Shared memory of one block, estimated from the kernel's source.

tilelang gives buffers that are never live at the same time the same memory.  A buffer is live from
the first to the last statement at the block's top level that uses it: all buffers of one loop or
branch there are live together.  A buffer that a pipelined loop loads into exists once a stage.

Source: tilelang ``src/transform/merge_shared_memory_allocations.cc`` (an access counts where the
buffer is allocated, at the level of the block), ``src/transform/inject_pipeline.cc``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens_worker.facts import Buffer, Loop

from ...counting.kernel_counts import Counts
from ...dtypes import byte_count
from ...tree.node import CostNode, leaves_of
from ...tree.route import Route
from ...tree.table import Table

_BLOCK_KINDS = frozenset({"grid", "cluster", "block"})
# Barriers and tensor memory are not part of a block's shared buffers.
_OTHER_SCOPES = frozenset({"shared.barrier", "shared.cluster_barrier", "shared.tmem"})


@dataclass
class _LiveRange:
    """The first and last statement of the block that use a buffer of `bytes`, for each stage."""

    bytes: int
    first: int
    last: int
    stages: int = 1


def shared_bytes(counts: Counts, tree: Sequence[CostNode], routes: Table[Route]) -> int:
    """The most bytes of shared memory that the live buffers of a block take at the same time."""
    ranges: dict[str, _LiveRange] = {}
    statements = _block_statements(tree)
    for number, statement in enumerate(statements):
        for leaf in statement.leaves():
            for entry in leaf.count.accesses:
                _extend_range(ranges, entry.buffer, counts, number)
    for name, stages in _buffer_stages(tree, routes):
        if name in ranges:
            ranges[name].stages = max(ranges[name].stages, stages)
    return max(
        (
            sum(
                live.bytes * live.stages
                for live in ranges.values()
                if live.first <= number <= live.last
            )
            for number in range(len(statements))
        ),
        default=0,
    )


def _block_statements(nodes: Sequence[CostNode]) -> Sequence[CostNode]:
    """The top level of the code of one block, inside the loops over blocks and threads."""
    while (
        len(nodes) == 1
        and isinstance(nodes[0].source, Loop)
        and nodes[0].source.kind in _BLOCK_KINDS
    ):
        nodes = nodes[0].children
    return nodes


def _extend_range(
    ranges: dict[str, _LiveRange], buffer: Buffer, counts: Counts, number: int
) -> None:
    if not buffer.scope.startswith("shared") or buffer.scope in _OTHER_SCOPES:
        return
    name = buffer.alias_of or buffer.id
    known = counts.buffers.get(name)
    if known is None or known.shape is None:
        return
    elements = _allocated_elements(known.buffer, known.shape)
    size = byte_count(elements, known.buffer.dtype) or 0
    live = ranges.setdefault(name, _LiveRange(size, number, number))
    live.last = number


def _allocated_elements(buffer: Buffer, shape: Sequence[int]) -> int:
    """The elements that a buffer takes, with the padding of its rows where its strides say so.

    Source: TVM's ``LowerOpaqueBlock``, which allocates the first axis's extent times its stride.
    """
    stride = next(iter(buffer.strides), None)
    return shape[0] * stride if shape and isinstance(stride, int) else math.prod(shape)


def _buffer_stages(tree: Sequence[CostNode], routes: Table[Route]) -> Iterator[tuple[str, int]]:
    """The shared arrays that pipelined loops load from global memory, and their buffers."""
    for leaf in leaves_of(tree):
        buffers = routes[leaf].buffers
        if not buffers:
            continue
        for entry in leaf.count.accesses:
            if entry.access.mode == "write" and entry.buffer.scope.startswith("shared"):
                yield entry.buffer.alias_of or entry.buffer.id, buffers
