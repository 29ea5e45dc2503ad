"""Tensor-core instructions in the source: mma, wgmma, MFMA and their sparse forms.

The shape is in the instruction (``m16n8k16``).  The 32 lanes of a warp execute an ``mma`` together,
the 128 threads of a warpgroup a ``wgmma``, but the statement is in the program of each thread.  The
execution by one thread therefore has M*N*K/32 or M*N*K/128 multiply-accumulates (an integer for all
shapes), and the sum over the threads is exact.  Operands are registers of the threads, or shared
memory by descriptor, whose size follows from the shape: ``wgmma`` reads B, and in its ``ss`` form
A, from shared memory.  These reads are not accesses of a known buffer and are left out.

If a block has fewer threads than the instruction requires, these execute all of the work.

Sources: tilelang ``cuda/language/tir.py``, ``src/cuda/op/builtin.h``; TVM ``backend/cuda/op.py``
(0.26: ``ptx.mma``, ``wgmma_mma_async``) and ``backend/cuda/ptx/table.py`` (0.27: modifiers travel
as trailing strings); PTX ISA, chapter "Warp level matrix instructions".
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from ...facts import Arith, Expr, MatrixInstruction, Mma, Statement
from ..build import WARP, not_understood, short_name
from ..registry import Context, accounts

#: How many threads execute an instruction together.
_LANES: Dict[MatrixInstruction, int] = {"mma": WARP, "wgmma": 128, "mfma": 64, "rdna_wmma": WARP}

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_SHAPE_MFMA = re.compile(r"(\d+)x(\d+)x(\d+)")

DTYPES = {
    "fp16": "float16",
    "f16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "f32": "float32",
    "tf32": "float32",
    "fp64": "float64",
    "f64": "float64",
    "s8": "int8",
    "u8": "uint8",
    "s4": "int4",
    "u4": "uint4",
    "s32": "int32",
    "b1": "uint1",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e2m1": "float4_e2m1fn",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "half": "float16",
}
_DTYPE = re.compile(r"^(float|bfloat|int|uint)\d+(_\w+)?(x\d+)?$")


def as_dtype(word: str) -> Optional[str]:
    """The element type of a word: ``float16`` for ``fp16`` and ``f16``; None if it is none."""
    plain = re.sub(r"x\d+$", "", word)
    return DTYPES.get(plain) or (plain if _DTYPE.match(word) else None)


def strings(call: Any, context: Context) -> List[str]:
    """The string arguments, with composed modifiers (``m64n8k16.f32``) taken apart."""
    found = (context.literal(node) for node in call.args)
    return [part for word in found if isinstance(word, str) for part in word.split(".") if part]


def predicate(call: Any, context: Context) -> Optional[Expr]:
    """The condition under which a call of TVM's PTX dialect is executed: its last operand.

    It has one if the last modifier is ``pred`` (``"pred,p6"`` if the instruction has another
    predicate operand).
    """
    words = [context.literal(node) for node in call.args]
    last = words[-1] if words else None
    if not isinstance(last, str) or last.split(",")[0] != "pred":
        return None
    operands = [node for node, word in zip(call.args, words) if not isinstance(word, str)]
    return context.expr(operands[-1])


@accounts(
    "tir.ptx_mma", "tl.ptx_mma_sm70", "tir.ptx.mma", "tir.ptx.mma_*", "tir.ptx_legacy.mma",
    "tl.ptx_mma_block_scale",
)  # fmt: skip
def mma(call: Any, context: Context) -> Statement:
    """``mma.sync``: a product of one warp."""
    sparse = "mma_sp" in call.op.name or "sp" in strings(call, context)
    return _instruction(call, context, "mma", sparsity=2 if sparse else 1)


@accounts("tir.ptx_mma_sp")
def mma_sparse(call: Any, context: Context) -> Statement:
    """``mma.sp.sync``: A is 2:4 sparse."""
    return _instruction(call, context, "mma", sparsity=2)


@accounts("tl.ptx_wgmma_ss", "tl.ptx_wgmma_rs")
def wgmma(call: Any, context: Context) -> Statement:
    """``wgmma.mma_async``: an asynchronous product of one warpgroup."""
    return _instruction(call, context, "wgmma")


@accounts("tl.ptx_wgmma_sp_ss", "tl.ptx_wgmma_sp_rs")
def wgmma_sparse(call: Any, context: Context) -> Statement:
    """``wgmma.mma_async.sp``: A is 2:4 sparse."""
    return _instruction(call, context, "wgmma", sparsity=2)


@accounts("tir.ptx.wgmma_mma_async_ss", "tir.ptx.wgmma_mma_async_rs")
def wgmma_by_numbers(call: Any, context: Context) -> Statement:
    """TVM 0.26: M, N and K are three numbers, the element types strings (``float16``)."""
    numbers = [context.literal(node) for node in call.args]
    words = [as_dtype(word) for word in strings(call, context)]
    types = [word for word in words if word]
    for position in range(len(numbers) - 2):
        m, n, k = numbers[position : position + 3]
        if m == 64 and isinstance(n, int) and isinstance(k, int) and n % 8 == 0 and k >= 8:
            return _statement(call, (m, n, k), types, context, "wgmma")
    return not_understood(call, context, "its shape is not constant")


@accounts("tir.ptx.wgmma_b1_*", "tir.ptx.wgmma_bf16_*", "tir.ptx.wgmma_f16_*")
@accounts("tir.ptx.wgmma_fp8_*", "tir.ptx.wgmma_int_*", "tir.ptx.wgmma_tf32_*")
def wgmma_of_ptx(call: Any, context: Context) -> Statement:
    """wgmma of TVM's PTX table: M, N and K are in the name or the operands."""
    return _instruction(call, context, "wgmma")


@accounts("tl.tvm_mfma", "tir.tvm_mfma", "tl.tvm_rdna_wmma", "tir.tvm_rdna_wmma")
def matrix_core(call: Any, context: Context) -> Statement:
    """AMD: ``tvm_mfma("f32_16x16x16f16", ...)``, by the 64 lanes of a wavefront (RDNA: 32)."""
    instruction: MatrixInstruction = "mfma" if "mfma" in call.op.name else "rdna_wmma"
    for word in strings(call, context):
        found = _SHAPE_MFMA.search(word)
        if found:
            shape = tuple(int(part) for part in found.groups())
            types = [as_dtype(part) for part in re.split(r"[_x]|\d+x\d+x\d+", word) if part]
            named = [dtype for dtype in types if dtype]
            return _statement(call, shape, [*named[1:], *named[:1]], context, instruction)
    return not_understood(call, context, "its shape is not constant")


def _instruction(
    call: Any, context: Context, instruction: MatrixInstruction, sparsity: int = 1
) -> Statement:
    words = strings(call, context)
    for word in words:
        found = _SHAPE.search(word)
        if found:
            shape = tuple(int(part) for part in found.groups())
            types = [dtype for dtype in map(as_dtype, words) if dtype]
            types = _operands_first(call, types)
            return _statement(call, shape, types, context, instruction, sparsity)
    return not_understood(call, context, "its shape is not constant")


def _operands_first(call: Any, types: List[str]) -> List[str]:
    """The element types as [A, ..., accumulator].

    The PTX spelling is D, A, B[, C] (and TVM 0.26 follows it), tilelang's and the legacy calls
    A, B, C, and tilelang's wgmma names the accumulator once before and once after the operands.
    TVM 0.26 has A, B, C in ``ptx.mma_sp``, which 0.27 gives the four types of PTX.
    """
    name = call.op.name
    if not types:
        return types
    of_ptx = name.startswith("tirx.ptx.") and "legacy" not in name
    if name == "tirx.ptx.mma_sp":
        of_ptx = len(types) == 4
    if of_ptx or name.startswith("tl.ptx_wgmma") or name == "tl.ptx_mma_block_scale":
        return [*types[1:2], types[0]] if len(types) > 1 else types
    return [types[0], types[2] if len(types) > 2 else types[-1]]


def _statement(
    call: Any,
    shape: Any,
    types: List[str],
    context: Context,
    instruction: MatrixInstruction,
    sparsity: int = 1,
) -> Statement:
    m, n, k = shape
    lanes = _LANES[instruction]
    if isinstance(context.threads, int):
        lanes = max(min(lanes, context.threads), 1)
    return Mma(
        label="T.{}(m{}n{}k{})".format(short_name(call.op.name), m, n, k),
        arith=(_multiply(shape, types, lanes, sparsity),),
        instruction=instruction,
    )


def _multiply(shape: Tuple[int, ...], types: List[str], lanes: int, sparsity: int) -> Arith:
    m, n, k = shape
    return Arith(
        op="mma",
        dtype=types[0] if types else "float16",
        accumulator=types[-1] if types else None,
        count=m * n * k // lanes,
        shape=shape,
        sparsity=sparsity,
    )
