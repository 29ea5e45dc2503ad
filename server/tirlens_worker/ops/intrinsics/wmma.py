"""The WMMA interface and its relatives: fragments that a warp loads, multiplies and stores.

``tvm_mma_sync`` multiplies fragments of M x K and K x N by a warp.  The extents are arguments of
the load, store and fill calls and the shape of the fragment, but not arguments of the product.  The
share of a thread is a 32nd of the elements of the fragment and of the product.  A fragment array
may have several tiles: a tile of 16 x 16 x 16 is assumed, as in TVM's schedules, unless the last
two extents of the array are another instruction shape.

Sources: TVM ``tirx/op.py`` (tvm_load_matrix_sync(fragment, m, n, k, index, pointer, stride,
layout), tvm_mma_sync(d, id, a, ia, b, ib, c, ic), tvm_fill_fragment(fragment, m, n, k, index,
value)), ``s_tir/tensor_intrin/cuda.py``, ``metal.py`` (simdgroup: 8 x 8 tiles, 32 lanes).
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ...facts import Arith, Fill, Load, Mma, Statement, Store
from ..build import WARP, label, lanes, not_understood
from ..registry import Context, Region, accounts

_TILE = (16, 16, 16)


@accounts("tir.tvm_mma_sync", "tir.tvm_bmma_sync")
def multiply(call: Any, context: Context) -> Statement:
    """``mma_sync(D, A, B, C)`` of fragments."""
    d, a, b, c = (context.region(call.args[position]) for position in (0, 2, 4, 6))
    if a is None or d is None:
        return not_understood(call, context, "the fragments are no buffers")
    m, n, k = _tile_of(a, d)
    return Mma(
        label=label("tvm_mma_sync", d, a, b, c),
        arith=(
            Arith(
                op="mma",
                dtype=a.buffer.dtype,
                accumulator=d.buffer.dtype,
                count=m * n * k // _lanes(context),
                shape=(m, n, k),
            ),
        ),
        instruction="wmma",
    )


def _tile_of(a: Region, d: Region) -> Tuple[int, int, int]:
    k = _last(a, 1)
    m, n = _last(d, 2), _last(d, 1)
    # The instruction shapes of WMMA are 16x16x16, 32x8x16 and 8x32x16; others hold many tiles.
    if m is not None and n is not None and k is not None and m * n == 256 and k in (4, 8, 16):
        return m, n, k
    return _TILE


def _last(region: Region, position: int) -> Optional[int]:
    shape = region.buffer.shape
    found = shape[-position] if len(shape) >= position else None
    return found if isinstance(found, int) else None


def _lanes(context: Context) -> int:
    threads = context.threads
    return max(min(WARP, threads), 1) if isinstance(threads, int) else WARP


@accounts("tir.tvm_load_matrix_sync", "tir.tvm_store_matrix_sync")
def load_or_store(call: Any, context: Context) -> Statement:
    """``load_matrix_sync`` and ``store_matrix_sync``: a fragment from or to memory."""
    loading = "load" in call.op.name
    fragment, memory = context.region(call.args[0]), context.region(call.args[5])
    sizes = [context.literal(node) for node in call.args[1:4]]
    if memory is None or not all(isinstance(size, int) for size in sizes):
        return not_understood(call, context, "not a constant tile of a known buffer")
    m, n, k = (size for size in sizes if isinstance(size, int))
    scope = "" if fragment is None else fragment.buffer.scope
    tile = m * k if scope.endswith("matrix_a") else k * n if scope.endswith("matrix_b") else m * n
    share = max(tile // _lanes(context), 1)
    return (Load if loading else Store)(
        label=label("tvm_{}_matrix_sync".format("load" if loading else "store"), fragment, memory),
        accesses=(lanes(memory, "read" if loading else "write", "thread", share),),
    )


@accounts("tir.tvm_fill_fragment", "tir.make_filled_simdgroup_matrix")
@accounts("tl.cooperative_tensor_fill", "tir.cooperative_tensor_fill")
def fill(call: Any, context: Context) -> Statement:
    """``fill_fragment``: one value in all elements."""
    fragment = context.region(call.args[0])
    return Fill(label=label("fill_fragment", fragment))


@accounts("tir.simdgroup_load", "tir.simdgroup_store")
def simdgroup_move(call: Any, context: Context) -> Statement:
    """``simdgroup_load(fragment, index, pointer, stride, columns, rows, transposed)``."""
    loading = "load" in call.op.name
    memory = context.region(call.args[2])
    if memory is None:
        return not_understood(call, context, "the pointer is to no known buffer")
    columns, rows = (context.literal(node) for node in call.args[4:6])
    tile = columns * rows if isinstance(columns, int) and isinstance(rows, int) else 64
    share = max(tile // WARP, 1)
    return (Load if loading else Store)(
        label=label("simdgroup_load" if loading else "simdgroup_store", memory),
        accesses=(lanes(memory, "read" if loading else "write", "thread", share),),
    )


@accounts("tir.simdgroup_multiply_accumulate")
def simdgroup_multiply(call: Any, context: Context) -> Statement:
    """Metal's ``simdgroup_multiply_accumulate`` of 8 x 8 matrices."""
    found = [region for region in map(context.region, call.args) if region is not None]
    dtype = found[1].buffer.dtype if len(found) > 1 else "float16"
    return Mma(
        instruction="simdgroup",
        label=label("simdgroup_multiply_accumulate", *found[:1]),
        arith=(
            Arith(
                op="mma",
                dtype=dtype,
                accumulator=found[0].buffer.dtype if found else None,
                count=8 * 8 * 8 // _lanes(context),
                shape=(8, 8, 8),
            ),
        ),
    )


@accounts("tl.cooperative_tensor_load", "tl.cooperative_tensor_store")
@accounts("tir.cooperative_tensor_load", "tir.cooperative_tensor_store")
def cooperative_move(call: Any, context: Context) -> Statement:
    """``cooperative_tensor_load(d, index, pointer, stride, rows, columns, ...)`` by 32 lanes."""
    loading = "load" in call.op.name
    memory = context.region(call.args[2])
    sizes = [context.literal(node) for node in call.args[4:6]]
    if memory is None or not all(isinstance(size, int) for size in sizes):
        return not_understood(call, context, "not a constant tile of a known buffer")
    rows, columns = (size for size in sizes if isinstance(size, int))
    share = max(rows * columns // WARP, 1)
    return (Load if loading else Store)(
        label=label("cooperative_tensor", memory),
        accesses=(lanes(memory, "read" if loading else "write", "thread", share),),
    )


@accounts("tl.cooperative_tensor_multiply_accumulate")
@accounts("tir.cooperative_tensor_multiply_accumulate")
def cooperative_multiply(call: Any, context: Context) -> Statement:
    """``(d, id, a, ia, b, ib, c, ic, M, N, K, transpose_a, transpose_b)``."""
    sizes = [context.literal(node) for node in call.args[8:11]]
    a, d = context.region(call.args[2]), context.region(call.args[0])
    if a is None or d is None or not all(isinstance(size, int) for size in sizes):
        return not_understood(call, context, "its shape is not constant")
    m, n, k = (size for size in sizes if isinstance(size, int))
    return Mma(
        instruction="simdgroup",
        label=label("cooperative_tensor_multiply_accumulate", d, a),
        arith=(
            Arith(
                op="mma",
                dtype=a.buffer.dtype,
                accumulator=d.buffer.dtype,
                count=m * n * k // _lanes(context),
                shape=(m, n, k),
            ),
        ),
    )
