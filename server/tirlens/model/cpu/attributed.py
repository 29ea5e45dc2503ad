"""The time of a CPU kernel on its statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer, Statement

from ..dtypes import scalar_class
from ..tree.kernel_time import KernelTime
from ..tree.node import CostNode, Traffic, leaves_of, replace_leaves
from ..tree.timed_node import TimedNode
from .address import LINE_BYTES
from .leaves import Leaf
from .timing import NestTime, cpu_time


def kernel(
    items: Sequence[CostNode],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[int]],
    device: Device,
) -> tuple[tuple[CostNode, ...], TimedNode, KernelTime]:
    """The time of each statement and of the kernel on a CPU.

    The items come with how long each unit of the busiest core is busy with a leaf, and the bytes
    that pass behind L1 and from DRAM.  A kernel is taken to run again and again, so that the caches
    hold what its last run left.
    """
    found = cpu_time(items, buffers, shapes, device)
    seconds: dict[CostNode, float] = {}
    filled: dict[CostNode, CostNode] = {}
    for nest in found.nests:
        weights = {leaf.item: nest.core.by_leaf.get(id(leaf.item), 0.0) for leaf in nest.leaves}
        total = sum(weights.values())
        for leaf in nest.leaves:
            part = weights[leaf.item] / total if total else 1 / len(nest.leaves)
            item = filled[leaf.item] = _filled(leaf, nest, part, found.cores, device.clock_hz)
            seconds[item] = nest.clocks * part / device.clock_hz
    items = replace_leaves(items, [filled.get(leaf, leaf) for leaf in leaves_of(items)])
    block = weighted(items, lambda leaf: seconds.get(leaf, 0.0))
    return items, block, KernelTime(found.launch_s, block.total_s, 0.0, None)


def cores_at_work(leaves: Sequence[CostNode], device: Device) -> int:
    """The cores that a kernel's parallel loops give work to."""
    loops = (loop for leaf in leaves for loop in leaf.context.loops if loop.kind == "parallel")
    return min(max((loop.extent or 1 for loop in loops), default=1), device.sm_count)


def _filled(leaf: Leaf, nest: NestTime, part: float, cores: int, clock_hz: float) -> CostNode:
    item = leaf.item
    wide = any(scalar_class(entry.arith.dtype) == "fp64" for entry in item.count.arith)
    clocks = {
        ("fp64" if wide else "fp32") if leaf.floating else "int": nest.core.arithmetic,
        "latency": nest.core.chain,
        "sfu": nest.core.calls,
        "issue": nest.core.issue + nest.core.entries,
        "l1": nest.core.memory,
        **nest.waits.clocks,
    }
    lines = sum(nest.waits.lines.values()) * cores * part
    from_dram = nest.waits.lines.get("dram", 0.0) * cores * part
    share = nest.waits.written / max(sum(nest.waits.lines.values()), 1e-9)
    moved = Traffic(
        l2_read_bytes=lines * LINE_BYTES,
        l2_write_bytes=lines * share * LINE_BYTES,
        dram_read_bytes=from_dram * LINE_BYTES,
        dram_write_bytes=from_dram * share * LINE_BYTES,
    )
    seconds = {name: value * part / clock_hz for name, value in clocks.items() if value}
    return item.replace(traffic=moved, busy_s=seconds)


def weighted(items: Sequence[CostNode], weight: Callable[[CostNode], float]) -> TimedNode:
    """A tree of times in which each leaf has its weight and nothing else has any."""

    def part(item: CostNode) -> TimedNode:
        if isinstance(item.source, Statement):
            return TimedNode(item, weight(item))
        return TimedNode(item, 0.0, tuple(part(child) for child in item.children))

    return TimedNode(None, 0.0, tuple(part(item) for item in items))
