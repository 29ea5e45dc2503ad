"""What one block takes of an SM: threads as launched, shared memory with its buffers, registers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Annotate, Branch, Copy, KernelFacts, LoweredLaunch, Statement

from ...counting.kernel_counts import Counts
from ...tree.node import CostNode
from ...tree.traits import PRODUCT, some
from ..compiler.liveness import find_register_demand
from ..compiler.temporary_registers import count_loading_registers, count_temporaries
from .occupancy import BlockResources, register_limit, registers
from .shared_memory import pipelines, shared_bytes, stage_count
from .steps import LOADING_REGISTERS

# The warpgroup that tilelang puts beside those of the source (src/cuda/transform/
# producer_consumer_ws.cc, ``producer_extent``).
PRODUCER_THREADS = 128


def block_resources(
    facts: KernelFacts, counts: Counts, items: Sequence[CostNode], device: Device
) -> BlockResources:
    """What a block takes.

    A buffer that a pipelined loop loads into exists once for each stage.  On a device with TMA a
    pipelined tilelang kernel is launched with a producer warpgroup beside the threads of its
    source.  Where the kernel has been lowered for the device, that says both exactly.
    """
    threads = math.prod(counts.launch.threads or (1,))
    lowered = lowered_for(facts, device)
    live = find_register_demand(items, counts)
    held, needed = math.ceil(live.peak_bytes) * threads, math.ceil(live.required_bytes) * threads
    # Warps that wgmma feeds from shared memory and TMA from other warps hold no operands.
    apart = specialised(facts, items, device)
    tensor = not apart and any(some(item, PRODUCT) for item in items)
    requests = {
        leaf.source.register_request
        for item in items
        for leaf in item.leaves()
        if isinstance(leaf.source, Annotate)
    }
    divided = (apart or "divide" in requests) and "keep" not in requests
    loading = count_loading_registers(items, LOADING_REGISTERS)
    between = count_temporaries(items)
    count = registers(device, held, threads, tensor, divided, loading, between)[0]
    spilled = registers(device, needed, threads, tensor, divided)[1]
    if lowered is not None:
        threads = lowered.threads
        if lowered.registers_per_thread is not None:
            count = max(count, _divided_registers(device, threads))
        count = min(count, register_limit(device, threads))
        return BlockResources(threads, lowered.shared_bytes, count, spilled)
    # What a source asks for itself holds its buffers, which are views of it, and their padding.
    shared = facts.launch.shared_bytes or shared_bytes(counts, items)
    if apart:
        threads += PRODUCER_THREADS
    if divided:
        count = max(count, _divided_registers(device, threads))
    # The compiler keeps to what the launched threads can have, and spills the rest.
    return BlockResources(threads, shared, min(count, register_limit(device, threads)), spilled)


def lowered_for(facts: KernelFacts, device: Device) -> LoweredLaunch | None:
    """The kernel's launch as lowering for the device's architecture has it, if it was lowered."""
    return next((item for item in facts.lowered if item.arch == device.arch), None)


def _divided_registers(device: Device, threads: int) -> int:
    """Registers per thread where warps hand registers to each other: one block takes the SM.

    Compiled tilelang kernels of 256, 384 and 640 threads have 240, 168 and 96.
    """
    return min(240, device.limits.registers_per_sm // (8 * threads) * 8)


def specialised(facts: KernelFacts, items: Sequence[CostNode], device: Device) -> bool:
    """Whether tilelang splits the block into a TMA producer and consumers of wgmma.

    Right for 133 of 140 example kernels that tilelang 0.1.15 lowered for sm_90.  It looks for
    copies among the statements of the loop itself, or of the one branch that is all of it
    (``src/cuda/transform/producer_consumer_ws.cc``).
    """
    if facts.framework != "tilelang" or "tma" not in device.features:
        return False
    if facts.attributes.get("warp_specialized") is False:
        return False
    return any(
        stage_count(loop) > 0
        and some(loop, PRODUCT)
        and any(isinstance(item.source, Statement) and _copies_tiles(item) for item in _body(loop))
        for loop in pipelines(items)
    )


def _body(loop: CostNode) -> Sequence[CostNode]:
    children = loop.children
    if len(children) == 1 and isinstance(children[0].source, Branch):
        return children if children[0].source.orelse else children[0].children
    return children


def _copies_tiles(leaf: CostNode) -> bool:
    """Whether a statement copies a tile from global to shared memory, by TMA if that can do it."""
    scopes = {(entry.access.mode, entry.buffer.scope) for entry in leaf.count.accesses}
    shared = any(mode == "write" and scope.startswith("shared") for mode, scope in scopes)
    allowed = isinstance(leaf.source, Copy) and leaf.source.may_use_tma
    return allowed and ("read", "global") in scopes and shared
