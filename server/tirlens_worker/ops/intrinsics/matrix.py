"""Copies of matrices between shared memory and registers: ldmatrix, stmatrix, fills for mma.

``ldmatrix.x4`` reads four 8x8 matrices of 16-bit elements by the 32 lanes of a warp.  Each lane
receives 4 bytes of each, which is the cost of the execution by one thread.

Sources: tilelang ``tl.ptx_ldmatrix(trans, num, shared pointer, local pointer)``, TVM
``tirx.ptx_legacy.ldmatrix(dtype, trans, num, ".b16", local, offset, shared, offset)`` and
``tirx.ptx.ldmatrix(trans, num, ".b16", shared, registers...)`` of 0.26; PTX ISA, ldmatrix.
"""

from __future__ import annotations

from typing import Any, List, Optional

from ...facts import AccessMode, Copy, Fill, Statement, Store
from ..build import bits, label, lanes, not_understood, short_name
from ..registry import Context, Region, accounts

_BYTES_OF_A_LANE = 4


@accounts("tl.ptx_ldmatrix", "tir.ptx_ldmatrix", "tir.ptx_legacy.ldmatrix", "tir.ptx.ldmatrix*")
def ldmatrix(call: Any, context: Context) -> Statement:
    """``ldmatrix``: a warp loads matrices of 8 x 8 from shared memory."""
    return _move(call, context, "read", "write")


@accounts("tl.ptx_stmatrix", "tir.ptx.stmatrix*")
def stmatrix(call: Any, context: Context) -> Statement:
    """``stmatrix``: a warp stores matrices of 8 x 8 to shared memory."""
    return _move(call, context, "write", "read")


@accounts("tir.ptx.movmatrix", "tl.ds_read_tr16_b64", "tl.ds_read_tr8_b64")
def transpose_matrix(call: Any, context: Context) -> Statement:
    """``movmatrix`` in registers, and AMD's reads of shared memory that transpose."""
    source = context.region(call.args[0])
    width = 1 if source is None else max(64 // bits(source.buffer.dtype), 1)
    return Copy(
        label="T.{}()".format(short_name(call.op.name)),
        accesses=() if source is None else (lanes(source, "read", "thread", width),),
    )


def _move(
    call: Any, context: Context, shared_mode: AccessMode, local_mode: AccessMode
) -> Statement:
    found = [region for region in map(context.region, call.args) if region is not None]
    shared = _first(found, "shared")
    count = _count(call, context)
    if shared is None or count is None:
        return not_understood(call, context, "not a constant number of matrices of a known buffer")
    width = max(count * _BYTES_OF_A_LANE * 8 // bits(shared.buffer.dtype), 1)
    registers = next((region for region in found if region is not shared), None)
    accesses = [lanes(shared, shared_mode, "thread", width)]
    if registers is not None:
        accesses.append(lanes(registers, local_mode, "thread", width))
    name = "ldmatrix" if shared_mode == "read" else "stmatrix"
    return Copy(label=label(name, shared, registers), accesses=tuple(accesses))


def _first(regions: List[Region], scope: str) -> Optional[Region]:
    return next((region for region in regions if region.buffer.scope.startswith(scope)), None)


def _count(call: Any, context: Context) -> Optional[int]:
    """The number of 8x8 matrices: 1, 2 or 4, as a number or as ``x4``."""
    for node in call.args:
        value = context.literal(node)
        if isinstance(value, str) and value in ("x1", "x2", "x4"):
            return int(value[1:])
        if isinstance(value, int) and not isinstance(value, bool) and value in (1, 2, 4):
            return value
    return None


@accounts("tir.mma_fill", "tir.mma_fill_legacy", "tir.mma_store", "tir.mma_store_legacy")
@accounts("tl.tvm_mfma_store", "tir.tvm_mfma_store", "tl.tvm_rdna_wmma_store")
def accumulator(call: Any, context: Context) -> Statement:
    """Clears or stores the accumulators of a thread: 8 elements of a 16x16 tile and warp.

    ``mma_fill(size, local, offset)`` names its size; ``mma_store(m, n, target, local, ...)``
    the tile that the warp stores.
    """
    sizes = [context.literal(node) for node in call.args]
    numbers = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool)]
    found = [region for region in map(context.region, call.args) if region is not None]
    if not found or not numbers:
        return not_understood(call, context, "no known buffer")
    if "fill" in call.op.name:
        return Fill(
            label=label("mma_fill", found[0]),
            accesses=(lanes(found[0], "write", "thread", numbers[0]),),
        )
    share = max(numbers[0] * numbers[1] // 32, 1) if len(numbers) > 1 else 1
    accesses = [lanes(found[0], "write", "thread", share)]
    accesses.extend(lanes(region, "read", "thread", share) for region in found[1:2])
    return Store(label=label("mma_store", *found[:1]), accesses=tuple(accesses))
