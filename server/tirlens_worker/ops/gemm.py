"""Matrix multiplication of tiles: ``T.gemm`` and its Hopper, Blackwell, block-scaled and 2:4 forms.

A block executes M*N*K multiply-accumulates, reads A and B once and reads and writes C (no read
where `clear_accum` holds).  The dense forms have A, B, C at 0-2, the transposes at 3-4, M, N, K at
5-7, policy and clear_accum at 8-9, and block-scaled ones the scales at 13-14; ``gemm_sp`` has A, E
(the positions of the non-zeros), B, C at 0-3, the transposes at 4-6 and M, N, K at 7-9.  K is the
logical depth of a 2:4 product: half of its multiply-accumulates are executed.  The dtype is that
of A; float32 operands are rounded to tf32 and run on the tensor cores from sm_80 on.

Sources: tilelang ``language/gemm_op.py`` (_gemm_dense_slots), ``language/experimental/
gemm_sp_op.py``, ``src/op/gemm.cc`` and ``gemm_sp.cc``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

from ..facts import Access, Arith, Expr, Gemm, MatrixInstruction, Statement, WarpPolicy
from .build import access, hints_of, label, not_understood, short_name, times
from .registry import Context, Region, accounts

_POLICIES: Dict[Any, WarpPolicy] = {0: "square", 1: "full_row", 2: "full_col"}
_INSTRUCTIONS: Tuple[MatrixInstruction, ...] = ("wgmma", "tcgen05")


@accounts(
    "tl.tileop.gemm",
    "tl.tileop.gemm_py",
    "tl.tileop.wgmma_gemm",
    "tl.tileop.tcgen05_gemm",
    "tl.gemm_rs",
    "tl.gemm_sr",
)
def gemm(call: Any, context: Context) -> Statement:
    """``gemm(A, B, C, ...)`` of dense tiles."""
    return _gemm(call, context, tensors=(0, 1, 2), sizes=5)


@accounts("tl.tileop.gemm_blockscaled", "tl.tileop.tcgen05_gemm_blockscaled")
def gemm_blockscaled(call: Any, context: Context) -> Statement:
    """``gemm_blockscaled(A, B, C, ..., SFA, SFB)``: tiles with a scale for each block."""
    return _gemm(call, context, tensors=(0, 1, 2), sizes=5, extra=(13, 14))


@accounts(
    "tl.tileop.gemm_sp",
    "tl.tileop.gemm_sp_py",
    "tl.tileop.wgmma_gemm_sp",
    "tl.tileop.tcgen05_gemm_sp",
)
def gemm_sp(call: Any, context: Context) -> Statement:
    """``gemm_sp(A, E, B, C, ...)``: A is 2:4 sparse."""
    return _gemm(call, context, tensors=(0, 2, 3), sizes=7, extra=(1,), sparsity=2)


def _gemm(
    call: Any, context: Context, tensors: Any, sizes: int, extra: Any = (), sparsity: int = 1
) -> Statement:
    arguments = call.args
    operands = [context.region(arguments[position]) for position in tensors]
    if None in operands:
        return not_understood(call, context, "an operand is no region of a buffer")
    a, b, c = operands
    assert a is not None and b is not None and c is not None
    m, n, k = (context.expr(arguments[position]) for position in range(sizes, sizes + 3))
    clear = arguments[sizes + 4] if len(arguments) > sizes + 4 else False
    name = short_name(call.op.name)
    pair = context.literal(hints_of(call).get("use_2cta")) in (1, True)
    leads: Optional[Expr] = ("==", context.rank_in_cluster, 0) if pair else None
    accesses = (
        access(a, "read", "mma"),
        access(b, "read", "mma"),
        *_scales(context, [arguments[position] for position in extra]),
        *_accumulator(context, c, clear),
        access(c, "write", "mma"),
    )
    # One that is only started is waited for elsewhere.
    started = context.literal(hints_of(call).get("wg_wait")) == -1
    return Gemm(
        label=label(name, a, b, c),
        arith=(
            Arith(
                op="mma",
                dtype=a.buffer.dtype,
                accumulator=c.buffer.dtype,
                count=times(m, n, k, 2 if pair else 1),
                guard=leads,
                shape=(m, n, k),
                sparsity=sparsity,
            ),
        ),
        accesses=accesses if leads is None else 2 * _where(leads, accesses),
        per="block",
        m_n_k=(m, n, k),
        transposes=_transposes(call, context, sizes),
        policy=_POLICIES.get(_literal(context, arguments, sizes + 3), "square"),
        instruction=next((one for one in _INSTRUCTIONS if name.startswith(one)), None),
        is_asynchronous=started,
    )


def _where(leads: Expr, accesses: Tuple[Access, ...]) -> Tuple[Access, ...]:
    """The accesses with the guard of the first block of a pair, which multiplies both tiles."""
    return tuple(
        replace(access, guard=leads if access.guard is None else ("and", leads, access.guard))
        for access in accesses
    )


def _scales(context: Context, nodes: List[Any]) -> List[Access]:
    found = (context.region(node) for node in nodes)
    return [access(region, "read", "mma") for region in found if region is not None]


def _accumulator(context: Context, c: Region, clear: Any) -> List[Access]:
    cleared = context.literal(clear)
    if cleared is None:
        return [access(c, "read", "mma", guard=("not", context.expr(clear)))]
    return [] if cleared else [access(c, "read", "mma")]


def _transposes(call: Any, context: Context, sizes: int) -> Tuple[bool, bool]:
    """Whether A and B are transposed; the sparse form has the argument of E between theirs."""
    first, second = (sizes - 3, sizes - 1) if sizes == 7 else (sizes - 2, sizes - 1)
    return bool(context.literal(call.args[first])), bool(context.literal(call.args[second]))


def _literal(context: Context, arguments: Any, position: int) -> Optional[Expr]:
    return context.literal(arguments[position]) if len(arguments) > position else None
