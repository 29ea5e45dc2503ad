"""CPU code: loops over cores and vector lanes, arithmetic and memory of each leaf overlapped.

A parallel loop is spread over the cores in equal parts; without one a single core works, and its
share of DRAM is larger than even.  A leaf that stands in no vectorized loop computes one element
at a time unless the innermost loop has unit stride, where the compiler is taken to vectorize.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Statement

from .expr import free_variables
from .pipeline import Timed
from .schedule import KernelTime
from .work import Item

# One core draws at most this many times its even share of the memory's rate.
ALONE_SHARE = 4.0
FLOAT_BYTES = 4


def kernel(
    items: Sequence[Item], leaves: Sequence[Item], device: Device
) -> tuple[Timed, KernelTime]:
    """The weights of the leaves and the kernel's time on a CPU."""
    seconds = {id(leaf): leaf_seconds(leaf, device) for leaf in leaves}
    block = weighted(items, lambda leaf: seconds[id(leaf)])
    parallel = any(loop.kind == "parallel" for leaf in leaves for loop in leaf.place.around)
    launch = device.launch_s if parallel else 0.0
    return block, KernelTime(launch, block.total_s, 0.0, None)


def leaf_seconds(leaf: Item, device: Device) -> float:
    """The greatest of a leaf's busy times, with the cores and lanes that it really uses."""
    parts = math.prod(loop.extent or 1 for loop in leaf.place.around if loop.kind == "parallel")
    cores = device.sm_count
    spread = 1 / cores if parts <= 1 else parts / (math.ceil(parts / cores) * cores)
    lanes = 1.0 if vectorized(leaf) else max(device.simd_bytes / FLOAT_BYTES, 1.0)
    worst = 0.0
    for name, seconds in leaf.seconds.items():
        if name in ("dram", "l2"):
            worst = max(worst, seconds / min(1.0, spread * ALONE_SHARE))
        elif name != "shared":
            worst = max(worst, seconds * lanes / spread)
    return worst


def vectorized(leaf: Item) -> bool:
    """Whether a leaf's innermost loop runs over vector lanes, by schedule or by unit stride."""
    if not leaf.place.around:
        return False
    inner = leaf.place.around[-1]
    if inner.kind == "vectorized":
        return True
    strides = [
        inner.var in free_variables(leaf.place.resolve(index))
        for entry in leaf.count.accesses
        for index in entry.access.indices[:-1]
    ]
    return not any(strides)


def weighted(items: Sequence[Item], weight: Callable[[Item], float]) -> Timed:
    """A tree of times in which each leaf has its weight and nothing else has any."""

    def part(item: Item) -> Timed:
        if isinstance(item.node, Statement):
            return Timed(item, weight(item))
        return Timed(item, 0.0, tuple(part(child) for child in item.children))

    return Timed(None, 0.0, tuple(part(item) for item in items))
