"""Resources of one block (threads, shared memory, registers), and how many blocks an SM holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Annotate, KernelFacts

from ...constants import constant
from ...counting.kernel_counts import Counts
from ...dtypes import bits
from ...report import Occupancy
from ...tree.compiled import Compiled
from ...tree.node import CostNode, leaves_of
from ...tree.traits import PRODUCT, some
from ..compiler.register_pressure import find_register_demand
from ..compiler.routes import has_tma_producer
from ..compiler.temporary_registers import (
    LOAD_REGISTERS,
    count_loading_registers,
    count_temporaries,
)
from .shared_memory import shared_bytes

PRODUCT_BASE_REGISTERS = constant(
    "PRODUCT_BASE_REGISTERS",
    45,
    kind="fitted",
    unit="registers",
    meaning=(
        "Registers of a thread besides its fragments, for addresses and loop counters, with "
        "matrix instructions."
    ),
    source=(
        "compiled products have 23 to 80 registers above accumulators and operands "
        "(`tests/measured/registers.csv`)"
    ),
    bounds=(23, 80),
    rows="compiled products (`tests/measured/registers.csv`)",
)
BASE_REGISTERS = constant(
    "BASE_REGISTERS",
    12,
    kind="compiler",
    unit="registers",
    meaning="Registers of a thread besides its fragments, without matrix instructions.",
    source=(
        "elementwise kernels that only move or mask what they load have 10 to 12 "
        "(`tests/measured/compiled.csv`)"
    ),
    bounds=(10, 12),
)
ADDRESS_REGISTERS = constant(
    "ADDRESS_REGISTERS",
    12,
    kind="compiler",
    unit="registers",
    meaning="Registers of a thread besides those of loads that wait for their data.",
    source=(
        "ptxas of CUDA 13 gives 28 and 48 registers to rotary embeddings whose threads wait "
        "with 16 and 32, and 158 to attention over ragged sequences that waits with 64 and "
        "accumulates in 96"
    ),
)
PRODUCT_SPILL_MARGIN = constant(
    "PRODUCT_SPILL_MARGIN",
    40,
    kind="fitted",
    unit="registers",
    meaning=(
        "Registers besides the fragments without which a thread with matrix instructions spills."
    ),
    source="all compiled products in `tests/measured/registers.csv` are predicted right",
    rows="compiled products (`tests/measured/registers.csv`)",
)
SPILL_MARGIN = constant(
    "SPILL_MARGIN",
    20,
    kind="estimate",
    unit="registers",
    meaning=(
        "Registers besides the fragments without which a thread without matrix instructions spills."
    ),
    source="BASE_REGISTERS and two operands of 16 bytes",
)
CONSUMER_REGISTERS = constant(
    "CONSUMER_REGISTERS",
    240,
    kind="compiler",
    unit="registers",
    meaning=(
        "Registers that tilelang's ``set_max_nreg`` and its warp specialisation leave to the "
        "threads that compute."
    ),
    source="tilelang, src/cuda/transform/annotate_warp_group_reg_alloc.cc",
)
TEMPORARY_REGISTERS = constant(
    "TEMPORARY_REGISTERS",
    8,
    kind="estimate",
    unit="registers",
    meaning="Registers of the intermediate values of a kernel whose code is not known.",
)
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
PRODUCER_THREADS = constant(
    "PRODUCER_THREADS",
    128,
    kind="compiler",
    unit="threads",
    meaning="Threads of the warpgroup that tilelang adds to those of the source.",
    source="tilelang, src/cuda/transform/producer_consumer_ws.cc, ``producer_extent``",
)

# Instructions that read their operands from shared memory, or from fragments that are counted.
_SHARED_OPERANDS = frozenset({"wgmma", "tcgen05", None})


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
    spilled_share : float
        The share of a thread's arrays that its registers do not hold.
    tensor_memory_columns : int
        Columns of tensor memory.
    """

    threads: int
    shared_bytes: int
    registers_per_thread: int
    spilled_share: float = 0.0
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


class RegisterEstimate(NamedTuple):
    """Registers of a thread, and the share of its fragments that spills."""

    registers_per_thread: int
    spilled_share: float


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
    """The resources that a block takes.

    On a device with TMA a pipelined tilelang kernel is launched with a producer warpgroup besides
    the threads of its source.  Where the kernel is lowered for the device, its threads and shared
    memory are exact.
    """
    threads = math.prod(counts.launch.threads or (1,))
    lowered = facts.lowered_for(device.arch)
    is_specialised = has_tma_producer(leaves_of(tree), compiled.routes)
    reallocates = _reallocates_registers(tree, is_specialised)
    count, spilled = _registers(
        counts, tree, compiled, device, threads, is_specialised, reallocates
    )
    columns = _tensor_memory_columns(tree, counts)
    if lowered is not None:
        threads = lowered.threads
        if lowered.registers_per_thread is not None:
            count = max(count, _reallocated_registers(device, threads))
        count = min(count, register_limit(device, threads))
        return BlockResources(threads, lowered.shared_bytes, count, spilled, columns)
    # Shared memory that a source asks for by itself holds its buffers, which are views of it, and
    # their padding.
    shared = facts.launch.shared_bytes or shared_bytes(counts, tree, compiled.routes)
    if is_specialised:
        threads += PRODUCER_THREADS
    if reallocates:
        count = max(count, _reallocated_registers(device, threads))
    # The compiler keeps to the registers that the launched threads can have, and spills the rest.
    count = min(count, register_limit(device, threads))
    return BlockResources(threads, shared, count, spilled, columns)


def _registers(
    counts: Counts,
    tree: Sequence[CostNode],
    compiled: Compiled,
    device: Device,
    threads: int,
    is_specialised: bool,
    reallocates: bool,
) -> RegisterEstimate:
    demand = find_register_demand(tree, counts)
    instructions = {route.instruction for route in compiled.routes}
    # Warps that wgmma feeds from shared memory, and TMA from other warps, hold no operands.
    holds_operands = not instructions <= _SHARED_OPERANDS
    has_products = any(some(node, PRODUCT) for node in tree)
    has_products = has_products and (holds_operands or not is_specialised)
    registers = estimate_registers(
        device,
        math.ceil(demand.peak_bytes) * threads,
        threads,
        has_products,
        reallocates,
        count_loading_registers(tree, compiled.instructions, LOAD_REGISTERS),
        count_temporaries(tree, compiled.instructions),
        holds_operands=holds_operands,
    ).registers_per_thread
    needed_bytes = math.ceil(demand.required_bytes) * threads
    # All threads of a source that tilelang divides compute, and hold their part of the tiles: they
    # have no more registers than the SM. Of a source that divides its threads itself some do.
    most = register_limit(device, threads) if is_specialised else CONSUMER_REGISTERS
    spilled = estimate_registers(
        device,
        needed_bytes,
        threads,
        has_products,
        reallocates,
        consumer_registers=min(CONSUMER_REGISTERS, most),
        holds_operands=holds_operands,
    ).spilled_share
    return RegisterEstimate(registers, spilled)


def estimate_registers(
    device: Device,
    fragment_bytes: int,
    threads: int,
    has_products: bool = True,
    reallocates: bool = False,
    load_registers: int = 0,
    temporary_registers: int = TEMPORARY_REGISTERS,
    consumer_registers: int = CONSUMER_REGISTERS,
    holds_operands: bool = True,
) -> RegisterEstimate:
    """The registers of a thread, and the share of its fragments that spills.

    A kernel with matrix instructions spills when its fragments and `PRODUCT_SPILL_MARGIN` exceed
    the registers that a thread can have.

    Parameters
    ----------
    device : Device
        The device.
    fragment_bytes : int
        Bytes of local arrays of a block.
    threads : int
        Threads of a block.
    has_products : bool
        Whether the kernel has matrix instructions whose operands are in registers.
    reallocates : bool
        Whether warpgroups give registers to those that compute (``setmaxnreg``).
    load_registers : int
        Registers in which loads wait for their data.
    temporary_registers : int
        Registers of intermediate values.
    consumer_registers : int
        Registers of a thread that computes, where warpgroups give it theirs.
    holds_operands : bool
        Whether matrix instructions read operands from registers that are not among the fragments.
    """
    fragments = -(-fragment_bytes // (4 * max(threads, 1)))
    limit = register_limit(device, threads)
    margin = PRODUCT_SPILL_MARGIN if has_products else SPILL_MARGIN
    excess = fragments + margin - (consumer_registers if reallocates else limit)
    if has_products:
        operands = _operand_registers(fragments) if holds_operands else 0
        needed = fragments + PRODUCT_BASE_REGISTERS + operands
    else:
        needed = fragments + BASE_REGISTERS + temporary_registers
    # A tile is loaded before the values computed with it exist.
    needed = max(needed, ADDRESS_REGISTERS + load_registers)
    return RegisterEstimate(min(limit, needed), max(excess, 0) / max(fragments, 1))


def _operand_registers(accumulators: int) -> int:
    """Registers of the operands of a warp's next matrix instructions.

    A warp's m x n accumulators take m n / 32 registers of each lane, its m rows and n columns of
    32 bytes (16 halves) m / 4 and n / 4; the sum is least where the tile is square.
    """
    return math.ceil(math.sqrt(8 * accumulators))


def register_limit(device: Device, threads: int) -> int:
    """The most registers that each of a block's threads can have, in units of their allocation."""
    unit = device.microarchitecture.register_unit
    units = device.limits.registers_per_sm // max(threads, 1) // unit
    return min(device.limits.registers_per_thread, units * unit)


def _reallocates_registers(tree: Sequence[CostNode], is_specialised: bool) -> bool:
    """Whether warpgroups give registers to those that compute (``setmaxnreg``)."""
    requests = {
        leaf.source.register_request
        for node in tree
        for leaf in node.leaves()
        if isinstance(leaf.source, Annotate)
    }
    return (is_specialised or "divide" in requests) and "keep" not in requests


def _reallocated_registers(device: Device, threads: int) -> int:
    """Registers a thread where warpgroups reallocate them: one block takes those of the SM.

    Compiled tilelang kernels of 256, 384 and 640 threads have 240, 168 and 96.
    """
    unit = device.microarchitecture.register_unit
    units = device.limits.registers_per_sm // (unit * threads)
    return min(CONSUMER_REGISTERS, units * unit)


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
