"""What a thread takes: its registers, its stack frame, and its accesses to local memory.

There are two makers of one table: the machine code of a kernel that is compiled for the device, and
an estimate from the live ranges of its arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import CompiledLaunch, KernelFacts

from ...constants import constant
from ...counting.kernel_counts import Counts
from ...tree.compiled import Instructions, ThreadResources
from ...tree.node import CostNode, leaves_of
from ...tree.route import Route
from ...tree.table import Table
from .local_memory import compiled_local_memory, estimated_local_memory, spilled_accumulators
from .registers import (
    find_registers,
    reallocated_registers,
    reallocates_registers,
    register_limit,
)
from .routes import has_tma_producer

PRODUCER_THREADS = constant(
    "PRODUCER_THREADS",
    128,
    kind="compiler",
    unit="threads",
    meaning="Threads of the warpgroup that tilelang adds to those of the source.",
    source="tilelang, src/cuda/transform/producer_consumer_ws.cc, ``producer_extent``",
)


def thread_resources(
    facts: KernelFacts,
    counts: Counts,
    tree: Sequence[CostNode],
    instructions: Table[Instructions],
    routes: Table[Route],
    device: Device,
) -> ThreadResources:
    """What a thread takes, by the machine code for the device where the kernel is compiled for it.

    Parameters
    ----------
    facts, counts, tree
        The kernel, its counts and its tree.
    instructions, routes
        The instructions of its statements, and what they become.
    device
        The device.
    """
    compiled = facts.compiled_for(device.arch)
    if compiled is not None:
        return _of_machine_code(compiled, counts, tree)
    return _estimate(facts, counts, tree, instructions, routes, device)


def launched_threads(
    facts: KernelFacts,
    counts: Counts,
    tree: Sequence[CostNode],
    routes: Table[Route],
    device: Device,
) -> int:
    """The threads of a block as launched.

    On a device with TMA a pipelined tilelang kernel is launched with a producer warpgroup besides
    the threads of its source.
    """
    lowered = facts.lowered_for(device.arch)
    if lowered is not None:
        return lowered.threads
    threads = math.prod(counts.launch.threads or (1,))
    is_specialised = has_tma_producer(leaves_of(tree), routes)
    return threads + PRODUCER_THREADS if is_specialised else threads


def _of_machine_code(
    launch: CompiledLaunch, counts: Counts, tree: Sequence[CostNode]
) -> ThreadResources:
    blocks = math.prod(counts.launch.grid or (1,))
    return ThreadResources(
        launch.registers_per_thread,
        launch.stack_bytes,
        launch.spill_bytes,
        compiled_local_memory(tree, counts, blocks, launch),
    )


def _estimate(
    facts: KernelFacts,
    counts: Counts,
    tree: Sequence[CostNode],
    instructions: Table[Instructions],
    routes: Table[Route],
    device: Device,
) -> ThreadResources:
    leaves = leaves_of(tree)
    lowered = facts.lowered_for(device.arch)
    threads = math.prod(counts.launch.threads or (1,))
    launched = launched_threads(facts, counts, tree, routes, device)
    is_specialised = has_tma_producer(leaves, routes)
    reallocates = reallocates_registers(tree, is_specialised)
    found = find_registers(
        counts, tree, instructions, routes, device, threads, is_specialised, reallocates
    )
    # What is lowered says whether it reallocates.
    if lowered is not None:
        reallocates = lowered.registers_per_thread is not None
    registers = found.registers_per_thread
    if reallocates:
        registers = max(registers, reallocated_registers(device, launched))
    # The compiler keeps to the registers that the launched threads can have, and spills the rest.
    registers = min(registers, register_limit(device, launched))
    products = spilled_accumulators(leaves, routes, found.most)
    spilled = round(max(found.spilled_bytes, *(one.bytes for one in products.values()), 0))
    local = estimated_local_memory(leaves, found.spilled_share, products)
    return ThreadResources(registers, spilled, spilled, local)
