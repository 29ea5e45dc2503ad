"""The kernel's own arrays, which TVM makes as small as the loops around all their uses allow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Buffer

from ..tree.context import EnclosingLoop
from ..tree.node import CostNode, leaves_of

Loops = tuple[EnclosingLoop, ...]


def common_loops(items: Sequence[CostNode], buffers: Mapping[str, Buffer]) -> dict[str, Loops]:
    """The loops that all uses of each own array have in common, in which it is allocated."""
    common: dict[str, Loops] = {}
    for leaf in leaves_of(items):
        for entry in leaf.count.accesses:
            name = entry.access.buffer
            if not buffers[name].is_parameter:
                common[name] = shared(common.get(name, leaf.context.loops), leaf.context.loops)
    return common


def shared(one: Loops, other: Loops) -> Loops:
    """The loops around both of two statements."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return one[:same]


def own_elements(
    items: Sequence[CostNode], buffers: Mapping[str, Buffer], common: Mapping[str, Loops]
) -> dict[str, int]:
    """At most so many elements each own array has after TVM's ``CompactBufferAllocation``."""
    most: dict[str, int] = {}
    for leaf in leaves_of(items):
        for entry in leaf.count.accesses:
            name = entry.access.buffer
            if buffers[name].is_parameter:
                continue
            indices = (leaf.context.resolve(index) for index in entry.access.indices)
            names = frozenset[str]().union(*map(free_variables, indices))
            inside = leaf.context.loops[len(common[name]) :]
            elements = math.prod(loop.extent or 1 for loop in inside if loop.var in names)
            most[name] = max(most.get(name, 1), elements)
    return most
