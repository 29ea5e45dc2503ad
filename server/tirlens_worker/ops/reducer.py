"""tilelang's explicit reducers: ``T.reducer_init``, ``T.reducer_update``, ``T.finalize_reducer``.

An update combines one value with one element of the reducer in each iteration of the enclosing
parallel loop.  Finalization combines the partial results of threads: every thread that holds an
element exchanges it in log2(warp size) steps.  Lowering chooses these threads; all threads of the
block are assumed (the plan ``replication="all"``).  As in ``T.reduce``, a step is a shuffle, and
its combining instruction is not counted as an operation on data.

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
