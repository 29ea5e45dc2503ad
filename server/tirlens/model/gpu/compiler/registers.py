"""The registers of a thread: what a kernel needs, what a device gives, and what spills."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Annotate

from ...constants import constant
from ...counting.kernel_counts import Counts
from ...tree.compiled import Instructions
from ...tree.node import CostNode
from ...tree.route import Route
from ...tree.table import Table
from ...tree.traits import PRODUCT, some
from .live_ranges import REGISTER_BYTES
from .register_pressure import find_register_demand
from .temporary_registers import (
    LOAD_REGISTERS,
    count_temporaries,
    loading_registers,
)

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
# Instructions that read their operands from shared memory, or from fragments that are counted.
_SHARED_OPERANDS = frozenset({"wgmma", "tcgen05", None})


class RegisterEstimate(NamedTuple):
    """Registers of a thread, and the share of its fragments that spills."""

    registers_per_thread: int
    spilled_share: float


class ThreadRegisters(NamedTuple):
    """Registers of a thread, and the share and the bytes of its arrays that spill.

    A thread that computes can have `most` registers for its arrays.
    """

    registers_per_thread: int
    spilled_share: float
    spilled_bytes: float
    most: int


def find_registers(
    counts: Counts,
    tree: Sequence[CostNode],
    instructions: Table[Instructions],
    routes: Table[Route],
    device: Device,
    threads: int,
    is_specialised: bool,
    reallocates: bool,
) -> ThreadRegisters:
    """The registers of a thread of a kernel, and what of its fragments spills.

    `threads` are those of the source, without the producer warpgroup that a kernel has if it
    `is_specialised`.
    """
    loads = loading_registers(tree, instructions, routes, LOAD_REGISTERS)
    demand = find_register_demand(tree, counts, loads)
    families = {route.instruction for route in routes}
    # Warps that wgmma feeds from shared memory, and TMA from other warps, hold no operands.
    holds_operands = not families <= _SHARED_OPERANDS
    has_products = any(some(node, PRODUCT) for node in tree)
    has_products = has_products and (holds_operands or not is_specialised)
    registers = estimate_registers(
        device,
        math.ceil(demand.peak_bytes) * threads,
        threads,
        has_products,
        reallocates,
        math.ceil(demand.loading_bytes / REGISTER_BYTES),
        count_temporaries(tree, instructions),
        holds_operands=holds_operands,
    ).registers_per_thread
    needed_bytes = math.ceil(demand.required_bytes) * threads
    # All threads of a source that tilelang divides compute, and hold their part of the tiles: they
    # have no more registers than the SM. Of a source that divides its threads itself some do.
    limit = register_limit(device, threads)
    most = min(CONSUMER_REGISTERS, limit) if is_specialised else CONSUMER_REGISTERS
    spilled = estimate_registers(
        device,
        needed_bytes,
        threads,
        has_products,
        reallocates,
        consumer_registers=most,
        holds_operands=holds_operands,
    ).spilled_share
    margin = PRODUCT_SPILL_MARGIN if has_products else SPILL_MARGIN
    most = (most if reallocates else limit) - margin
    return ThreadRegisters(registers, spilled, spilled * demand.required_bytes, most)


def estimate_registers(
    device: Device,
    fragment_bytes: int,
    threads: int,
    has_products: bool = True,
    reallocates: bool = False,
    load_registers: int = 0,
    temporary_registers: int = 0,
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


def reallocates_registers(tree: Sequence[CostNode], is_specialised: bool) -> bool:
    """Whether warpgroups give registers to those that compute (``setmaxnreg``)."""
    requests = {
        leaf.source.register_request
        for node in tree
        for leaf in node.leaves()
        if isinstance(leaf.source, Annotate)
    }
    return (is_specialised or "divide" in requests) and "keep" not in requests


def reallocated_registers(device: Device, threads: int) -> int:
    """Registers a thread where warpgroups reallocate them: one block takes those of the SM.

    Compiled tilelang kernels of 256, 384 and 640 threads have 240, 168 and 96.
    """
    unit = device.microarchitecture.register_unit
    units = device.limits.registers_per_sm // (unit * threads)
    return min(CONSUMER_REGISTERS, units * unit)
