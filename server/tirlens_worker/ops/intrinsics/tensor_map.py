"""``cp.async.bulk.tensor`` of TVM's PTX dialect, and the tensor maps that the host encodes for it.

If the function encodes the map, the array and the box are known.  If the map is a parameter of the
kernel, its box is inferred from the tile in shared memory: the trailing dimensions of the array of
the tile, as many as there are coordinates.  A loop that steps through a dimension limits the box to
its step.

Operands (PTX ISA, "cp.async.bulk.tensor"; coordinates innermost first): a load has the tile, the
map, the coordinates, a barrier and modifiers; a store has the map, the coordinates and the tile.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, List, Optional, Sequence, Tuple

from ...facts import AccessMode, Call, Copy, Expr, Statement
from ..build import access, bits, label, not_understood, times
from ..registry import Context, Layout, Region, accounts
from ..sync import signal
from .mma import predicate

_RANK = re.compile(r"([1-5])d$")


def encode(call: Any, context: Context) -> Statement:
    """(map, type, rank, address, sizes, strides but the innermost in bytes, box, ...).

    All are innermost first (CUDA driver API, ``cuTensorMapEncodeTiled``).  The host executes it.
    """
    made, dtype, rank, address = call.args[1:5]
    dims, kind = context.literal(rank), context.literal(dtype)
    if isinstance(dims, int) and isinstance(kind, str):
        _define(context, made, address, kind, call.args[5 : 5 + 3 * dims - 1])
    return Call(label="cuTensorMapEncodeTiled()")


@accounts("tir.cuda.tensormap_encode_tiled")
def encode_tiled(call: Any, context: Context) -> Statement:
    """(map, address, sizes, strides, box, ...) of TIRx, whose type and rank are attributes."""
    made, address = call.args[:2]
    dims, kind = int(call.attrs.rank), str(call.attrs.descriptor_dtype)
    _define(context, made, address, kind, call.args[2 : 2 + 3 * dims - 1])
    return Call(label="cuTensorMapEncodeTiled()")


def _define(context: Context, made: Any, address: Any, kind: str, operands: Sequence[Any]) -> None:
    """Define a map of elements of `kind` by its sizes, strides and box, innermost first."""
    array = context.region(address)
    if array is None:
        return
    numbers, dims = [context.expr(node) for node in operands], (len(operands) + 1) // 3
    size = max(bits(kind) // 8, 1)
    strides = [1, *(_elements(stride, size) for stride in numbers[dims : 2 * dims - 1])]
    shape, box = numbers[:dims], numbers[2 * dims - 1 :]
    layout = Layout(kind, tuple(shape[::-1]), tuple(strides[::-1]), tuple(box[::-1]))
    context.define_tensor_map(made, array, layout)


def tensor_copy(call: Any, context: Context, words: List[str], modifiers: List[str]) -> Statement:
    """``cp.async.bulk.tensor``: the box of a tensor map, by TMA."""
    rank = next((int(found.group(1)) for found in map(_RANK.match, modifiers) if found), 0)
    operands = [node for node in call.args if not isinstance(context.literal(node), str)]
    loading = "g2s" in words
    first = 2 if loading else 1
    tile = context.region(operands[0 if loading else first + rank])
    dtype = "uint8" if tile is None else tile.buffer.dtype
    found = context.tensor_map(operands[first - 1], dtype, rank)
    if found is None or len(found.array.shape) != rank:
        return not_understood(call, context, "its tensor map is made elsewhere")
    box = found.box or (None if tile is None else _box(tile, rank))
    if box is None:
        return not_understood(call, context, "the box of its tensor map is not known")
    corner = tuple(context.expr(node) for node in operands[first : first + rank])
    if found.box is None:
        box = _in_rows(box, corner[0])
        context.limit_copy_box(found.array, box)
    memory = Region(found.array, corner[::-1], box)
    guard = predicate(call, context)
    mode: AccessMode = "read" if loading else "atomic" if "reduce" in words else "write"
    # Elements outside the array are not copied; the sizes of an unknown array are not known.
    clipped = found.box is not None
    accesses = [replace(access(memory, mode, "tma", guard), clipped=clipped)]
    if tile is not None:
        inside = Region(tile.buffer, tile.indices, as_row(box, len(tile.indices)))
        accesses.append(access(inside, "write" if loading else "read", "tma", guard))
    barriers = operands[first + rank : first + rank + 1] if loading else []
    signals = (signal("bring", barrier, context) for barrier in barriers)
    return Copy(
        label=label("ptx.cp.async.bulk.tensor", memory, tile),
        accesses=tuple(accesses if loading else accesses[::-1]),
        signals=tuple(one for one in signals if one is not None),
    )


def _elements(size_bytes: Expr, element_bytes: int) -> Expr:
    whole = isinstance(size_bytes, int)
    return size_bytes // element_bytes if whole else ("//", size_bytes, element_bytes)


def as_row(box: Tuple[Expr, ...], dims: int) -> Tuple[Expr, ...]:
    """`box` as extents in `dims` dimensions, with the same number of elements."""
    if len(box) <= dims:
        return (1,) * (dims - len(box)) + box
    return (times(*box[: len(box) - dims + 1]), *box[len(box) - dims + 1 :])


def _box(tile: Region, rank: int) -> Optional[Tuple[Expr, ...]]:
    """The box of one copy, in elements of the array of the tile."""
    indices, shape = tile.indices[-rank:], tile.buffer.shape[-rank:]
    inner = shape[-1] if indices[-1] == 0 else _step(indices[-1], shape[-1])
    if rank == 0 or inner is None:
        return None
    # An index other than 0 without steps through its dimension selects one of several tiles.
    outer = (
        size if index == 0 else _step(index, size) or 1
        for index, size in zip(indices[:-1], shape[:-1])
    )
    return (*((1,) * (rank - len(shape))), *outer, inner)


def _in_rows(box: Tuple[Expr, ...], innermost: Expr) -> Tuple[Expr, ...]:
    """The box of a one-dimensional tile, whose copies continue along the rows of the array."""
    step, size = _step(innermost), box[-1]
    if step is None or len(box) < 2 or box[-2] != 1 or not isinstance(size, int):
        return box
    return (*box[:-2], size // step, step) if size % step == 0 and step < size else box


def _step(index: Expr, size: Expr = 0) -> Optional[int]:
    """The greatest common divisor of the steps of an index: 8 for ``i * 8 + j * 64``.

    A constant index has the common divisor with the `size` of its dimension.
    """
    if isinstance(index, int) and isinstance(size, int) and size > 1:
        return math.gcd(index, size)
    if not isinstance(index, tuple):
        return None
    if index[0] == "*" and isinstance(index[2], int):
        inner = _step(index[1])
        return index[2] if inner is None else inner * index[2]
    if index[0] == "//" and isinstance(index[2], int):
        inner = _step(index[1])
        return None if inner is None else inner // index[2]
    if index[0] != "+":
        return None
    steps = [step for part in index[1:] if (step := _step(part)) is not None]
    return min(steps, default=None)
