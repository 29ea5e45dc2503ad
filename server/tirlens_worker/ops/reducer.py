"""tilelang's explicit reducers: ``T.reducer_init``, ``T.reducer_update``, ``T.finalize_reducer``.

An update combines one value with one element of the reducer, per iteration of the parallel loop it
stands in.  Finalizing makes the threads that hold partial results agree: each element is exchanged
in as many steps as the binary logarithm of a warp's size, by every thread that holds it.  Which
threads those are is planned after the source; all of the block's are assumed, the
``replication="all"`` plan.  As in ``T.reduce``, a step is a shuffle and its own combining
instruction no operation on data: how many there are says nothing about the work.

Sources: tilelang ``language/reduce_op.py``, ``src/op/reducer.cc``.
"""

from __future__ import annotations

from typing import Any

from ..facts import Arith, Fill, Reduce, Statement
from .build import WARP, access, binary_log, elements, label, not_understood, times
from .reduce import COMBINE
from .registry import Context, accounts


@accounts("tl.tileop.reducer_init")
def init(call: Any, context: Context) -> Statement:
    """``T.reducer_init(reducer)``: the identity in each element."""
    reducer = context.region(call.args[0])
    if reducer is None:
        return not_understood(call, context, "the reducer is no buffer")
    return Fill(
        label=label("reducer_init", reducer),
        accesses=(access(reducer, "write", "tile"),),
        per="block",
    )


@accounts("tl.reducer_update")
def update(call: Any, context: Context) -> Statement:
    """``T.reducer_update(element, value)``: one combining operation."""
    target, value = context.region(call.args[0]), call.args[1]
    if target is None:
        return not_understood(call, context, "the reducer is no buffer")
    combine = COMBINE.get(context.reducer(target.buffer) or "sum", "add")
    return Reduce(
        label=label("reducer_update", target),
        arith=(*context.arith(value), Arith(op=combine, dtype=target.buffer.dtype)),
        accesses=(
            *context.accesses(value),
            access(target, "read", "thread"),
            access(target, "write", "thread"),
        ),
    )


@accounts("tl.tileop.finalize_reducer", "tl.tileop.finalize_reducer_v2")
def finalize(call: Any, context: Context) -> Statement:
    """``T.finalize_reducer(reducer)``: the partial results of all threads are exchanged."""
    reducer = context.region(call.args[0])
    target = context.region(call.args[-1])
    if reducer is None or target is None:
        return not_understood(call, context, "the reducer is no buffer")
    threads = context.threads
    alone = isinstance(threads, int) and threads <= 1
    steps = 0 if alone else times(elements(reducer), threads, binary_log(WARP))
    dtype = reducer.buffer.dtype
    return Reduce(
        label=label("finalize_reducer", reducer),
        arith=(Arith(op="shuffle", dtype=dtype, count=steps),),
        accesses=(access(reducer, "read", "tile"), access(target, "write", "tile")),
        per="block",
    )
