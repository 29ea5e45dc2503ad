"""Resources of one block (threads, shared memory, registers), and how many blocks an SM holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Annotate, KernelFacts

from ...constants import constant
from ...counting.kernel_counts import Counts
from ...dtypes import bits
from ...report import Occupancy
from ...tree.compiled import Compiled
from ...tree.node import CostNode, leaves_of
from ..compiler.thread_resources import launched_threads
from .shared_memory import shared_bytes

TENSOR_MEMORY_COLUMNS = constant(
    "TENSOR_MEMORY_COLUMNS",
    512,
    kind="isa",
    unit="columns",
    meaning="Columns of the tensor memory of an SM, of 128 lanes of 32 bits.",
    source='PTX ISA, "Tensor Memory"',
)
LEAST_TENSOR_MEMORY_COLUMNS = constant(
    "LEAST_TENSOR_MEMORY_COLUMNS",
    32,
    kind="isa",
    unit="columns",
    meaning="The fewest columns of an allocation of tensor memory; others are powers of two.",
    source='PTX ISA, "tcgen05.alloc"',
)


@dataclass(frozen=True)
class BlockResources:
    """What one block takes of an SM.

    Attributes
    ----------
    threads : int
        Threads as launched.
    shared_bytes : int
        Bytes of shared memory.
    registers_per_thread : int
        Registers of 32 bits.
    tensor_memory_columns : int
        Columns of tensor memory.
    """

    threads: int
    shared_bytes: int
    registers_per_thread: int
    tensor_memory_columns: int = 0


@dataclass(frozen=True)
class BlockOccupancy:
    """The resources of a block and its occupancy of an SM.

    `occupancy` is None where not one block fits, or where the device has no SMs.
    `misfit` says why not one block fits; it is empty if one does.
    """

    resources: BlockResources
    occupancy: Occupancy | None
    misfit: str = ""

    @property
    def blocks_per_sm(self) -> int:
        """Resident blocks of an SM; 1 where that is not known."""
        return self.occupancy.blocks_per_sm if self.occupancy else 1


def block_occupancy(
    facts: KernelFacts,
    counts: Counts,
    tree: Sequence[CostNode],
    compiled: Compiled,
    device: Device,
) -> BlockOccupancy:
    """The resources that a block takes, and how many blocks are resident on an SM.

    Parameters
    ----------
    facts : KernelFacts
        The kernel.  Where it is lowered for the device's architecture, the lowered launch says what
        a block takes.
    counts : Counts
        The counts of the kernel.
    tree : sequence of CostNode
        The tree of the kernel.
    compiled : Compiled
        The instructions and routes of its statements.
    device : Device
        The device.
    """
    resources = block_resources(facts, counts, tree, compiled, device)
    if device.kind != "gpu":
        return BlockOccupancy(resources, None)
    found = occupancy(device, resources)
    return BlockOccupancy(resources, found, "" if found else _misfit(device, resources))


def block_resources(
    facts: KernelFacts,
    counts: Counts,
    tree: Sequence[CostNode],
    compiled: Compiled,
    device: Device,
) -> BlockResources:
    """The resources that a block takes; exact where the kernel is lowered for the device."""
    lowered, made = facts.lowered_for(device.arch), facts.compiled_for(device.arch)
    threads = launched_threads(facts, counts, tree, compiled.routes, device)
    if lowered is not None:
        shared = lowered.shared_bytes
    elif made is not None and not _has_dynamic_shared_memory(facts):
        shared = made.static_shared_bytes
    else:
        # Shared memory that a source asks for by itself holds its buffers, which are views of it,
        # and their padding.
        shared = facts.launch.shared_bytes or shared_bytes(counts, tree, compiled.routes)
    columns = _tensor_memory_columns(tree, counts)
    return BlockResources(threads, shared, compiled.thread.registers, columns)


def _has_dynamic_shared_memory(facts: KernelFacts) -> bool:
    """Whether a launch gives a block shared memory, besides that of the kernel's code."""
    scopes = {buffer.scope for buffer in facts.buffers}
    return bool(facts.launch.shared_bytes) or "shared.dyn" in scopes


def _tensor_memory_columns(tree: Sequence[CostNode], counts: Counts) -> int:
    """The columns of tensor memory that a block allocates, or that its arrays there take."""
    allocated = sum(
        leaf.source.tensor_memory_columns
        for leaf in leaves_of(tree)
        if isinstance(leaf.source, Annotate)
    )
    if allocated:
        return allocated
    columns = 0
    for known in counts.buffers.values():
        buffer = known.buffer
        if buffer.scope != "shared.tmem" or buffer.alias_of or not known.shape:
            continue
        words = math.ceil(known.shape[-1] * (bits(buffer.dtype) or 32) / 32)
        columns += max(1 << max(words - 1, 0).bit_length(), LEAST_TENSOR_MEMORY_COLUMNS)
    return columns


def occupancy(device: Device, block: BlockResources) -> Occupancy | None:
    """Resident blocks of an SM, the share of its thread slots that they fill, and the limiter.

    None if not one block fits.
    """
    limits = device.limits
    threads = -(-block.threads // limits.warp_size) * limits.warp_size
    unit = device.microarchitecture.register_unit
    registers = -(-block.registers_per_thread // unit) * unit
    shared = block.shared_bytes
    if shared:
        shared += limits.reserved_shared_bytes_per_block
    fits = {
        "blocks": limits.blocks_per_sm,
        "threads": limits.threads_per_sm // max(threads, 1),
        "registers": limits.registers_per_sm // max(registers * threads, 1),
    }
    if shared:
        fits["shared"] = limits.shared_bytes_per_sm // shared
    if block.tensor_memory_columns and "tcgen05" in device.features:
        # An allocation of more columns than are free waits (PTX ISA, ``tcgen05.alloc``).
        fits["tensor memory"] = max(TENSOR_MEMORY_COLUMNS // block.tensor_memory_columns, 1)
    limiter = min(fits, key=lambda name: fits[name])
    blocks = fits[limiter]
    if blocks < 1:
        return None
    return Occupancy(
        blocks_per_sm=blocks,
        fraction=min(1.0, blocks * threads / limits.threads_per_sm),
        limiter=limiter,
    )


def _misfit(device: Device, block: BlockResources) -> str:
    """Why not one block fits on an SM."""
    limit = device.limits.shared_bytes_per_block
    if block.shared_bytes > limit:
        return (
            f"a block takes {block.shared_bytes} bytes of shared memory, more than the "
            f"{limit} of {device.id}"
        )
    return f"a block of {block.threads} threads does not fit on an SM of {device.id}"
