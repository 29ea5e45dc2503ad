"""How many blocks fit on one SM, from what a block takes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tirlens.hardware.spec import Device

from ...report import Occupancy

# What a thread holds beside its fragments: addresses, loop counters.  Compiled products have 23 to
# 80 registers above accumulators and operands (`tests/measured/registers.csv`), elementwise kernels
# that only move or mask what they load 10 to 12 (`tests/measured/compiled.csv`).
BASE_REGISTERS = {True: 45, False: 12}
# What a thread holds beside loads that wait for their data: ptxas of CUDA 13 gives 28 and 48
# registers to rotary embeddings whose threads wait with 16 and 32, 158 to attention over ragged
# sequences that waits with 64 and accumulates in 96.
ADDRESS_REGISTERS = 12
# Registers beside the fragments without which a thread spills, with matrix instructions (see
# `registers`) and without; the latter an estimate, of the 10 to 12 above and two operands of 16
# bytes.
SPILL_MARGIN = {True: 40, False: 20}
# What tilelang's ``set_max_nreg`` and its warp specialisation leave to the threads that compute
# (src/cuda/transform/annotate_warp_group_reg_alloc.cc).
COMPUTING_REGISTERS = 240


@dataclass(frozen=True)
class BlockResources:
    """What one block takes: threads as launched, shared bytes, 32-bit registers per thread."""

    threads: int
    shared_bytes: int
    registers: int
    spilled: float = 0.0  # the share of a thread's arrays that its registers do not hold


def registers(
    device: Device,
    fragment_bytes: int,
    threads: int,
    tensor: bool = True,
    divided: bool = False,
    loading: int = 0,
    temporaries: int = 8,
) -> tuple[int, float]:
    """Registers per thread for `fragment_bytes` of local storage a block, and what share spills.

    `tensor` tells kernels with matrix instructions, which hold operand fragments too; `divided`
    those whose warpgroups hand registers to the ones that compute (``setmaxnreg``).  `loading` are
    the registers in which loads wait for their data, `temporaries` those of what is computed
    between.

    A kernel with matrix instructions spills when its fragments and a margin of 40 exceed what a
    thread can have (all of the compiled ones in `tests/measured/registers.csv` are told right).
    """
    held = -(-fragment_bytes // (4 * max(threads, 1)))
    limit = register_limit(device, threads)
    over = held + SPILL_MARGIN[tensor] - (COMPUTING_REGISTERS if divided else limit)
    # wgmma reads its operands from shared memory, or from fragments that are counted already.
    loads = tensor and "wgmma" not in device.features
    beside = _operands(held) if loads else 0 if tensor else temporaries
    needed = held + BASE_REGISTERS[tensor] + beside
    # Tiles are loaded while what is computed with them is not there yet.
    needed = max(needed, ADDRESS_REGISTERS + loading)
    return min(limit, needed), max(over, 0) / max(held, 1)


def _operands(held: int) -> int:
    """Registers of the operands of a warp's next matrix instructions beside `held` accumulators.

    A warp's m x n accumulators take m n / 32 registers of each lane, its m rows and n columns of
    32 bytes (16 halves) m / 4 and n / 4; least where the tile is square.
    """
    return math.ceil(math.sqrt(8 * held))


def register_limit(device: Device, threads: int) -> int:
    """The most registers that each of a block's threads can have, in the units of 8 of a warp."""
    each = device.limits.registers_per_sm // max(threads, 1) // 8 * 8
    return min(device.limits.registers_per_thread, each)


def occupancy(device: Device, block: BlockResources) -> Occupancy | None:
    """Resident blocks, the share of thread slots they fill, and the limiter; None if none fits."""
    limits = device.limits
    warp = limits.warp_size
    threads = -(-block.threads // warp) * warp
    # Registers are handed out in units of 8 per thread.
    per_thread = -(-block.registers // 8) * 8
    shared = block.shared_bytes
    if shared:
        shared += limits.reserved_shared_bytes_per_block
    fits = {
        "blocks": limits.blocks_per_sm,
        "threads": limits.threads_per_sm // max(threads, 1),
        "registers": limits.registers_per_sm // max(per_thread * threads, 1),
    }
    if shared:
        fits["shared"] = limits.shared_bytes_per_sm // shared
    limiter = min(fits, key=lambda name: fits[name])
    blocks = fits[limiter]
    if blocks < 1:
        return None
    return Occupancy(
        blocks_per_sm=blocks,
        fraction=min(1.0, blocks * threads / limits.threads_per_sm),
        limiter=limiter,
    )


def does_not_fit(device: Device, block: BlockResources) -> str:
    """Why not one `block` fits on an SM of `device`."""
    limit = device.limits.shared_bytes_per_block
    if block.shared_bytes > limit:
        return (
            f"a block takes {block.shared_bytes} bytes of shared memory, more than the "
            f"{limit} of {device.id}"
        )
    return f"a block of {block.threads} threads does not fit on an SM of {device.id}"
