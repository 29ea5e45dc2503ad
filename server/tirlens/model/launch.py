"""What one block takes of an SM: threads as launched, shared memory with its buffers, registers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts, Loop, Statement

from .dtypes import byte_count
from .occupancy import BlockResources, register_limit, registers
from .work import Item

PRODUCER_THREADS = 128


def block_resources(
    facts: KernelFacts, counts: Any, items: Sequence[Item], device: Device
) -> BlockResources:
    """What a block takes.

    A buffer that a pipelined loop loads into exists once for each stage.  On a device with TMA a
    pipelined tilelang kernel is launched with a producer warpgroup beside the threads of its
    source.  A figure from lowering replaces the estimate.
    """
    threads = math.prod(counts.launch.threads or (1,))
    shared = facts.launch.shared_bytes
    if shared is None:
        shared = shared_bytes(facts, counts, items)
    held = sum(local_bytes(facts, counts, threads))
    tensor = any(leaf.node.op == "gemm" for item in items for leaf in item.leaves())
    count, spills = registers(device, held, threads, tensor)
    if facts.launch.registers_per_thread is not None:
        count, spills = facts.launch.registers_per_thread, False
    if facts.launch.origin == "source" and specialised(facts, items, device):
        threads += PRODUCER_THREADS
        count = max(count, _divided_registers(device, threads))
    elif any("set_max_nreg" in leaf.node.label for item in items for leaf in item.leaves()):
        count = max(count, _divided_registers(device, threads))
    # The compiler keeps to what the launched threads can have, and spills the rest.
    return BlockResources(threads, shared, min(count, register_limit(device, threads)), spills)


def _divided_registers(device: Device, threads: int) -> int:
    """Registers per thread where warps hand registers to each other: one block takes the SM.

    Compiled tilelang kernels of 256, 384 and 640 threads have 240, 168 and 96.
    """
    return min(240, device.limits.registers_per_sm // (8 * threads) * 8)


def local_bytes(facts: KernelFacts, counts: Any, threads: int) -> Iterator[int]:
    """Bytes that a block's threads hold in registers, buffer by buffer."""
    for buffer in facts.buffers:
        if not buffer.scope.startswith(("local", "wmma")) or buffer.alias_of:
            continue
        known = counts.buffers.get(buffer.id)
        if known is None or known.bytes is None:
            continue
        # A fragment is spread over the block, a local array is each thread's own.
        shared_out = buffer.scope == "local.fragment"
        yield known.bytes if shared_out else known.bytes * threads


def shared_bytes(facts: KernelFacts, counts: Any, items: Sequence[Item]) -> int:
    """Shared memory of one block, estimated from its buffers and the stages of its pipelines."""
    stages = _stages(items)
    total = 0
    for buffer in facts.buffers:
        if not buffer.scope.startswith("shared") or buffer.scope in (
            "shared.barrier",
            "shared.tmem",
        ):
            continue
        known = counts.buffers.get(buffer.id)
        if buffer.alias_of or known is None or known.shape is None:
            continue
        size = byte_count(math.prod(known.shape), buffer.dtype) or 0
        total += size * stages.get(buffer.id, 1)
    return total


def pipelines(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item.node, Loop) and item.node.kind == "pipelined":
            yield item
        yield from pipelines(item.children)


def stage_count(item: Item) -> int:
    stages = item.node.annotations.get("num_stages", 0)
    return stages if isinstance(stages, int) else 0


def _stages(items: Sequence[Item]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for loop in pipelines(items):
        for leaf in loop.leaves():
            if leaf.node.op != "copy" or not leaf.read_bytes:
                continue
            for entry in leaf.count.accesses:
                if entry.access.mode == "write" and entry.buffer.scope.startswith("shared"):
                    found[entry.access.buffer] = max(stage_count(loop), 1)
    return found


def specialised(facts: KernelFacts, items: Sequence[Item], device: Device) -> bool:
    """Whether tilelang splits the block into a TMA producer and consumers of wgmma."""
    if facts.framework != "tilelang" or "tma" not in device.features:
        return False
    return any(
        stage_count(loop) > 0
        and any(_copies_tiles(leaf) for leaf in loop.leaves())
        and any(leaf.node.op == "gemm" for leaf in loop.leaves())
        for loop in pipelines(items)
    )


def _copies_tiles(leaf: Item) -> bool:
    return (
        isinstance(leaf.node, Statement)
        and leaf.node.op == "copy"
        and bool(leaf.read_bytes)
        and leaf.shared_bytes > 0
    )
