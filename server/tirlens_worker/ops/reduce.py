"""``T.reduce`` (sum, max, min, absolute and bitwise forms): reduction of a tile in one dimension.

For a tile of `m` outputs of `n` elements each, a block executes m*n combining operations (the
first combines with the identity or with the old output), reads the tile once and writes m outputs.
It also reads them if `clear` does not hold.  ``abssum`` and ``absmax`` compute m*n absolute values.

The threads that share an output exchange partial results.  Their number depends on the layout of
the fragment, which lowering infers.  An even split of the block over the outputs is assumed, at
least the 4 threads that share a row of a tensor-core accumulator and at most a warp.  Each thread
issues as many shuffles as the binary logarithm of that number.

Sources: tilelang ``src/op/reduce.cc``, ``src/backend/common/op/reduce.h``,
``language/reduce_op.py`` (the copies of its shared-memory forms are separate statements of the IR).
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..facts import Arith, Expr, Reduce, Scan, Statement
from .build import WARP, access, binary_log, elements, executor, label, not_understood, times
from .registry import Context, Region, accounts

COMBINE = {
    "sum": "add",
    "abssum": "add",
    "max": "max",
    "absmax": "max",
    "min": "min",
    "bitand": "bitwise",
    "bitor": "bitwise",
    "bitxor": "bitwise",
    "any": "logic",
    "all": "logic",
}

_THREADS_OF_AN_ACCUMULATOR_ROW = 4


@accounts("tl.tileop.reduce")
def reduce(call: Any, context: Context) -> Statement:
    """``T.reduce(src, dst, kind, dim, clear)``: the elements of a tile along one dimension."""
    source, target = context.region(call.args[0]), context.region(call.args[1])
    kind = context.literal(call.args[2])
    combine = COMBINE.get(str(kind))
    if source is None or target is None or combine is None:
        return not_understood(call, context, "not a reduction of one tile to another")
    dtype = source.buffer.dtype
    arith = [Arith(op=combine, dtype=dtype, count=elements(source))]
    if str(kind).startswith("abs"):
        arith.insert(0, Arith(op="abs", dtype=dtype, count=elements(source)))
    per = executor(source)
    if per == "block":
        arith.extend(_exchange(elements(source), elements(target), context.threads, dtype))
    reads = [access(source, "read", "tile")]
    if context.literal(call.args[4]) is not True and context.literal(call.args[4]) != 1:
        reads.append(access(target, "read", "tile"))
    return Reduce(
        label=label("reduce_{}".format(kind), source, target),
        arith=tuple(arith),
        accesses=(*reads, access(target, "write", "tile")),
        per=per,
        dim=_dimension(context, call.args[3]),
    )


def _dimension(context: Context, node: Any) -> Optional[int]:
    dim = context.literal(node)
    return dim if isinstance(dim, int) else None


def _exchange(total: Expr, outputs: Expr, threads: Expr, dtype: str) -> Tuple[Arith, ...]:
    if not (isinstance(total, int) and isinstance(outputs, int) and isinstance(threads, int)):
        return ()
    if outputs == 0 or threads <= 1:
        return ()
    share = max(_THREADS_OF_AN_ACCUMULATOR_ROW, threads // outputs)
    share = min(share, WARP, max(total // outputs, 1))
    steps = binary_log(share)
    return (Arith(op="shuffle", dtype=dtype, count=outputs * share * steps),) if steps else ()


@accounts("tl.tileop.cumsum", "tl.tileop.cummax")
def scan(call: Any, context: Context) -> Statement:
    """``T.cumsum`` and ``T.cummax``: each element is combined with all previous ones.

    One combination per element is counted, the work of a sequential scan.  The warp-wide scan of
    the lowered code (``src/op/scan.cc``) adds shuffles.
    """
    source, target = context.region(call.args[0]), context.region(call.args[1])
    if source is None or target is None:
        return not_understood(call, context, "an operand is no region of a buffer")
    maximum = call.op.name.endswith("cummax")
    dtype = source.buffer.dtype
    steps = times(elements(source), binary_log(WARP))
    return Scan(
        label=label("cummax" if maximum else "cumsum", source, target),
        arith=(
            Arith(op="max" if maximum else "add", dtype=dtype, count=elements(source)),
            Arith(op="shuffle", dtype=dtype, count=steps),
        ),
        accesses=(access(source, "read", "tile"), access(target, "write", "tile")),
        per="block",
        dim=_dimension(context, call.args[2]),
    )


@accounts("tl.any_of", "tl.all_of")
def any_or_all(call: Any, context: Context) -> Statement:
    """``T.any_of(buffer)``: every thread reads all elements (``src/op/logical.cc``)."""
    tile = context.region(call.args[0])
    if tile is None:
        return not_understood(call, context, "the operand is no region of a buffer")
    count = context.expr(call.args[1]) if len(call.args) > 1 else elements(tile)
    size = (1,) * (len(tile.indices) - 1) + (count,)
    whole = Region(tile.buffer, tile.indices, size)
    return Reduce(
        label=label(call.op.name.rsplit(".", 1)[-1], tile),
        arith=(Arith(op="logic", dtype=tile.buffer.dtype, count=count),),
        accesses=(access(whole, "read", "thread"),),
    )
