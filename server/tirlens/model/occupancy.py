"""How many blocks fit on one SM, from what a block takes of it."""

from __future__ import annotations

from dataclasses import dataclass

from tirlens.hardware.spec import Device

from .report import Occupancy

# What a thread holds beside its fragments: addresses, loop counters, temporaries and, in a matrix
# product, the operands of the next instructions.  Eight compiled tilelang GEMMs on sm_80 have 67 to
# 114 registers above their accumulators (mean 86); simple kernels of other kinds 16 to 24, and
# mamba2's chunk scans with wgmma 15 and 26.
BASE_REGISTERS = {True: 85, False: 20}
SPILL_MARGIN = {True: 40, False: 20}
# What tilelang's ``set_max_nreg`` and its warp specialisation leave to the threads that compute.
COMPUTING_REGISTERS = 240


@dataclass(frozen=True)
class BlockResources:
    """What one block takes: threads as launched, shared bytes, 32-bit registers per thread."""

    threads: int
    shared_bytes: int
    registers: int
    spills: bool = False


def registers(
    device: Device, fragment_bytes: int, threads: int, tensor: bool = True, divided: bool = False
) -> tuple[int, bool]:
    """Registers per thread for `fragment_bytes` of local storage a block, and whether they spill.

    `tensor` tells kernels with matrix instructions, which hold operand fragments too; `divided`
    those whose warpgroups hand registers to the ones that compute (``setmaxnreg``).

    A kernel with matrix instructions spills when its fragments and a margin of 40 exceed what a
    thread can have (28 of 28 compiled tilelang GEMM configurations are told right by this rule).
    """
    held = -(-fragment_bytes // (4 * max(threads, 1)))
    limit = register_limit(device, threads)
    spills = held + SPILL_MARGIN[tensor] > (COMPUTING_REGISTERS if divided else limit)
    return min(limit, held + BASE_REGISTERS[tensor]), spills


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
