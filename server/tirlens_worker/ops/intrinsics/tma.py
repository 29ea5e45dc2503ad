"""Bulk copies by one thread: tilelang's ``tma_load`` family and TVM's ``cp_async_bulk`` of 0.26.

A tensor copy transfers the box of its descriptor.  If the descriptor is created in the call, the
global array, the corner and the box are known.  Otherwise (a kernel parameter) the size is that of
the region in shared memory, or not known.  The non-tensor form states its bytes.  A multicast load
reads global memory once for the cluster.

Sources: tilelang ``src/cuda/op/builtin.h`` (create_tma_descriptor(type, rank, address, shape...,
stride..., box..., element stride..., interleave, swizzle, promotion, fill); dimensions innermost
first), TVM ``backend/cuda/op.py``.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from ...facts import Access, AccessMode, Copy, Expr, Statement
from ..build import access, bits, label, lanes, not_understood, short_name
from ..registry import Context, Region, accounts


@accounts("tl.tma_load", "tl.tma_load_im2col", "tl.tma_load_multicast", "tl.tma_load_gather4")
def tma_load(call: Any, context: Context) -> Statement:
    """``tma_load``: a box from global to shared memory."""
    first = 4 if call.op.name == "tl.tma_load_multicast" else 3
    return _tensor_copy(call, context, "read", call.args[2], first)


@accounts("tl.tma_store", "tl.tma_store_scatter4")
def tma_store(call: Any, context: Context) -> Statement:
    """``tma_store``: a box from shared to global memory."""
    return _tensor_copy(call, context, "write", call.args[1], 2)


def _tensor_copy(
    call: Any, context: Context, mode: AccessMode, shared: Any, first: int
) -> Statement:
    name = short_name(call.op.name)
    tile = context.region(shared)
    memory = _described_region(
        call.args[0], context, [context.expr(node) for node in call.args[first:]]
    )
    if memory is None:
        return not_understood(call, context, "its tensor map is made elsewhere")
    other: AccessMode = "write" if mode == "read" else "read"
    accesses: Tuple[Access, ...] = (access(memory, mode, "tma"),)
    if tile is not None:
        sized = (1,) * (len(tile.indices) - 1) + (_count(memory),)
        accesses += (access(Region(tile.buffer, tile.indices, sized), other, "tma"),)
    return Copy(label=label(name, memory, tile), accesses=accesses)


def _described_region(descriptor: Any, context: Context, corner: List[Expr]) -> Optional[Region]:
    operation = getattr(getattr(descriptor, "op", None), "name", "")
    if operation != "tl.create_tma_descriptor":
        return None
    arguments = descriptor.args
    rank = context.literal(arguments[1])
    array = context.region(arguments[2])
    if array is None or not isinstance(rank, int) or len(array.buffer.shape) != rank:
        return None
    box = [context.expr(node) for node in arguments[3 + 2 * rank : 3 + 3 * rank]]
    return Region(array.buffer, tuple(corner[:rank][::-1]), tuple(box[::-1]))


def _count(region: Region) -> Expr:
    total: Expr = 1
    for extent in region.extents:
        total = extent if total == 1 else ("*", total, extent)
    return total


@accounts("tl.tma_store_cluster", "tir.ptx_cp_async_bulk", "tir.ptx.cp_async_bulk")
@accounts("tir.ptx.cp_async_bulk_shared_to_cluster", "tir.ptx.cp_async_bulk_s2s_cluster")
@accounts("tir.dma_copy", "tir.nvshmem.getmem*", "tir.nvshmem.putmem*")
def bulk_copy(call: Any, context: Context) -> Statement:
    """(dst, src, bytes, ...); the legacy form has an offset after each pointer."""
    found = [(at, region) for at, region in enumerate(map(context.region, call.args)) if region]
    sizes = [context.literal(node) for node in call.args]
    if len(found) < 2:
        return not_understood(call, context, "an address is no element of a buffer")
    (_, target), (last, source) = found[0], found[1]
    size = next((size for size in sizes[last + 1 :] if isinstance(size, int) and size > 0), None)
    if size is None:
        return not_understood(call, context, "its size is not constant")
    read, written = (max(size * 8 // bits(region.buffer.dtype), 1) for region in (source, target))
    return Copy(
        label=label(short_name(call.op.name), source, target),
        accesses=(
            lanes(source, "read", "tma", read),
            lanes(target, "write", "tma", written),
        ),
    )
