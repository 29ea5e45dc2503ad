"""Exchanges between the lanes of a warp: shuffles, reductions, votes and matches.

A shuffle is one operation per thread.  A reduction over 32 lanes is 5 shuffles and 5 combining
operations per thread; a reduction over a block repeats that for the results of the warps.  A vote
or a match is one exchange.

The value of another lane is known where all lanes have the same.  An election holds in one thread
of its group.  Votes and matches have no value before the run.

Sources: tilelang ``language/builtin.py``, ``language/reduce_op.py`` (warp_reduce),
``src/tl_templates/cuda/reduce.h``; TVM ``tirx/op.py``, ``src/s_tir/transform/
lower_thread_allreduce.cc``, ``backend/cuda/op.py`` (cuda.warp_reduce, cuda.cta_reduce).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Optional, Tuple

from ...facts import Access, Arith, Expr, Reduce, Shuffle, Statement
from ..build import WARP, binary_log, label, not_understood, short_name
from ..registry import Context, Values, accounts, gives

_STEPS = binary_log(WARP)


def dtype_of(node: Any) -> str:
    """The element type of an expression in any version of the frameworks."""
    found = getattr(node, "dtype", None)
    if found is None:
        found = getattr(getattr(node, "ty", None), "dtype", "int32")
    return str(found)


@accounts(
    "tl.shfl_*",
    "tl.match_any_sync",
    "tl.match_all_sync",
    "tl.any_sync",
    "tl.all_sync",
    "tl.ballot",
    "tl.ballot_sync",
    "tl.activemask",
    "tl.tl_shuffle_elect",
    "tir.tvm_warp_shuffle*",
    "tir.tvm_warp_activemask",
    "tir.cuda.__shfl_*",
    "tir.cuda.__activemask",
    "tir.cuda.any_sync",
    "tir.cuda.ballot_sync",
    "tir.cuda.elect_sync",
    "tir.hip.__*",
    "tir.metal.simd_shuffle*",
    "tir.webgpu.subgroup_shuffle*",
    "tir.simd_shuffle*",
    "tir.ptx.any_sync",
)
def shuffle(call: Any, context: Context) -> Statement:
    """A shuffle, vote or match: one exchange with the other lanes."""
    # The value follows the mask, if there is one; both may be expressions with a cost.
    return _exchange(call, context, 1, (), tuple(call.args))


@gives("tir.tvm_warp_shuffle*", "tl.shfl_*", "tir.cuda.__shfl_*", "tir.hip.__shfl_*")
def of_another_lane(call: Any, values: Values) -> Optional[Expr]:
    """``shuffle(mask, value, lane, ...)``: the value, if it is one in all lanes of the warp."""
    value = values.expr(call.args[1])
    return value if values.is_uniform_in_warps(value) else None


@gives("tir.metal.simd_shuffle*", "tir.webgpu.subgroup_shuffle*", "tir.simd_shuffle*")
def of_another_lane_without_mask(call: Any, values: Values) -> Optional[Expr]:
    """``shuffle(value, lane)``."""
    value = values.expr(call.args[0])
    return value if values.is_uniform_in_warps(value) else None


@gives("tir.tvm_warp_activemask", "tir.cuda.__activemask", "tir.hip.__activemask", "tl.activemask")
def active_mask(call: Any, values: Values) -> Optional[Expr]:
    """The mask of the active lanes, that of a whole warp."""
    return (1 << WARP) - 1


@gives("tir.cuda.elect_sync", "tir.ptx.elect_sync", "tir.ptx_elect_sync")
def elected_in_warp(call: Any, values: Values) -> Optional[Expr]:
    """One thread of each warp."""
    return ("==", values.lane, 0)


@gives("tir.filter", "tir.gpu_thread_filter")
def condition_of_filter(call: Any, values: Values) -> Optional[Expr]:
    """``filter(index, condition)``: the condition, for which the compiler keeps one index."""
    return values.expr(call.args[1])


@gives("tl.tl_shuffle_elect")
def elected_in_group(call: Any, values: Values) -> Optional[Expr]:
    """``shuffle_elect(group)``: one thread of each `group` of a block's; 0 is the whole block."""
    group = values.literal(call.args[0]) if len(call.args) else None
    if not isinstance(group, int):
        return None
    return ("==", ("%", values.thread, group) if group else values.thread, 0)


@accounts("tir.ptx.elect_sync")
def elect(call: Any, context: Context) -> Statement:
    """``elect.sync d|p, mask``: p holds in one thread of the warp (PTX ISA).

    With operands for both results from apache-tvm 0.27 on; before, the call's value is p.
    """
    if len(call.args) > 1:
        context.assign(call.args[1], ("==", context.lane, 0))
    return _exchange(call, context, 1, (), ())


@accounts("tl.warp_reduce_*", "tir.cuda.warp_reduce", "tir.cuda.reduce_*")
def warp_reduce(call: Any, context: Context) -> Statement:
    """``warp_reduce_sum`` and so on: the values of all lanes, in shuffles."""
    combine = (Arith(op=_combine(call, context), dtype=dtype_of(call), count=_STEPS),)
    return _exchange(call, context, _STEPS, combine, tuple(call.args))


@accounts("tir.cuda.cta_reduce")
def block_reduce(call: Any, context: Context) -> Statement:
    """``cuda.cta_reduce(value, operation, warps, scratch)``."""
    warps = context.literal(call.args[2])
    steps = _STEPS + (binary_log(warps) if isinstance(warps, int) else _STEPS)
    combine = (Arith(op=_combine(call, context), dtype=dtype_of(call), count=steps),)
    return _exchange(call, context, steps, combine, tuple(call.args[:1]))


@accounts("tir.tvm_thread_allreduce")
def thread_allreduce(call: Any, context: Context) -> Statement:
    """``tvm_thread_allreduce(n, value..., predicate, result..., thread index...)``.

    A tree reduction over the threads with different indices, in each warp first and then over one
    thread of each warp.  Every thread of the block executes every step.
    """
    count = context.literal(call.args[0])
    if not isinstance(count, int):
        return not_understood(call, context, "the number of values is no constant")
    values = tuple(call.args[1 : 2 + count])
    results = map(context.region, call.args[2 + count : 2 + 2 * count])
    threads = 1
    for index in call.args[2 + 2 * count :]:
        number = context.value_count(index)
        if number is None:
            return not_understood(call, context, "how many threads reduce is not known")
        threads *= number
    steps = binary_log(min(threads, WARP)) + binary_log(-(-threads // WARP))
    exchanged = tuple(
        Arith(op="shuffle", dtype=dtype_of(value), count=steps) for value in values[:-1] if steps
    )
    combined = tuple(
        replace(operation, count=operation.count * steps)
        for operation in context.combination()
        if steps and isinstance(operation.count, int)
    )
    return Reduce(
        label=label("tvm_thread_allreduce"),
        arith=(
            *(operation for value in values for operation in context.arith(value)),
            *exchanged,
            *combined,
        ),
        accesses=(
            *(read for value in values for read in context.accesses(value)),
            *(
                Access(buffer=result.buffer.id, mode="write", indices=result.indices)
                for result in results
                if result is not None
            ),
        ),
    )


def _exchange(
    call: Any, context: Context, steps: int, combine: Tuple[Arith, ...], values: Tuple[Any, ...]
) -> Statement:
    operands = tuple(operation for value in values for operation in context.arith(value))
    reads = tuple(read for value in values for read in context.accesses(value))
    return Shuffle(
        label="T.{}()".format(short_name(call.op.name)),
        arith=(*operands, Arith(op="shuffle", dtype=dtype_of(call), count=steps), *combine),
        accesses=reads,
    )


def _combine(call: Any, context: Context) -> str:
    words = [call.op.name, *(str(context.literal(node)) for node in call.args)]
    for word, operation in (("max", "max"), ("min", "min"), ("bit", "bitwise"), ("mul", "mul")):
        if any(word in text for text in words):
            return operation
    return "add"
