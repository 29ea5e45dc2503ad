"""Blackwell's tensor memory: its products, loads, stores and copies.

One thread issues ``tcgen05.mma`` for the block.  M and N are bits of the instruction descriptor
(N/8 at bit 17, M/16 at bit 24), K is 32 bytes of operand.  If the descriptor is computed at run
time, the size is not known.  ``tcgen05.ld`` and ``st`` transfer, for each thread, the 32-bit
registers in the call.

The time of a product follows from `Mma.operand_bytes` and `Mma.filled`.  Measured on a B200
(SemiAnalysisAI, microbench-blackwell@9a068d8, umma_throughput/tput_results_max.csv): an instruction
of 128 rows, or of 256 on two SMs, takes N/2 clocks, or the clocks of its operands at 128 bytes per
clock; one of 64 rows takes N/2 clocks too.

Sources: PTX ISA, "Instruction descriptor" and "tcgen05.mma"; tilelang ``cuda/language/tir.py``
(ptx_tcgen05_mma_ss(kind, a, a offset, b, b offset, c, c offset, descriptor, ...)),
``src/cuda/op/tcgen5_meta.h``; TVM ``backend/cuda/op.py``.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ...facts import Access, Arith, Call, Copy, Expr, Mma, Statement
from ..build import bits, not_understood, registers, short_name
from ..known_bits import known_bits
from ..registry import Context, accounts
from .mma import predicate, strings

_BYTES_OF_K = 32
#: Rows of an instruction of one block, and of one that has half as many.
_ROWS, _HALF = 128, 64
#: The bits of N/8 and M/16 in an instruction descriptor.
_SIZES = 0x3F << 17 | 0x1F << 24


@accounts("tl.ptx_tcgen05_mma_ss", "tl.ptx_tcgen05_mma_ts", "tl.ptx_tcgen05_mma_blockscaled_ss")
def multiply(call: Any, context: Context) -> Statement:
    """``tcgen05.mma``: an asynchronous product of one block or two."""
    kind = context.literal(call.args[0])
    descriptor = _descriptor(call, context)
    if not isinstance(kind, str) or descriptor is None:
        return not_understood(call, context, "its instruction descriptor is not constant")
    n, m = (descriptor >> 17 & 0x3F) * 8, (descriptor >> 24 & 0x1F) * 16
    k = _BYTES_OF_K * 8 // bits("float32" if kind == "tf32" else kind)
    return _product(call, (m, n, k), "float32" if kind == "tf32" else kind)


def _product(
    call: Any,
    shape: Tuple[int, int, int],
    dtype: str,
    guard: Optional[Expr] = None,
    sparsity: int = 1,
) -> Statement:
    m, n, k = shape
    words = short_name(call.op.name).split("_")
    # A row of either operand is 32 bytes; two blocks that multiply together read one half each.
    read = (n if "ts" in words else m + n) * _BYTES_OF_K
    # Half of the rows leave half of the tensor cores idle, unless the columns are split (``ws``).
    filled = _HALF / _ROWS if m == _HALF and "ws" not in words else 1.0
    return Mma(
        label="T.{}(m{}n{}k{})".format(short_name(call.op.name), m, n, k),
        arith=(
            Arith(
                op="mma",
                dtype=dtype,
                accumulator="float32",
                count=m * n * k,
                shape=shape,
                guard=guard,
                sparsity=sparsity,
            ),
        ),
        instruction="tcgen05",
        is_asynchronous=True,
        operand_bytes=read,
        filled=filled,
    )


def _descriptor(call: Any, context: Context) -> Optional[int]:
    """The instruction descriptor: the only constant argument with bits from bit 17 on."""
    found = (context.literal(node) for node in call.args[1:])
    return next((value for value in found if isinstance(value, int) and value >= 1 << 17), None)


#: By ``.kind``: the type of the operands and K of one instruction (PTX ISA, "tcgen05.mma").
_KINDS = {
    "f16": ("float16", 16),
    "tf32": ("float32", 8),
    "i8": ("int8", 32),
    "f8f6f4": ("float8_e4m3fn", 32),
    "mxf8f6f4": ("float8_e4m3fn", 32),
    "mxf4": ("float4_e2m1fn", 64),
    "mxf4nvf4": ("float4_e2m1fn", 64),
}


@accounts("tir.ptx.tcgen05_mma*")
def multiply_of_ptx(call: Any, context: Context) -> Statement:
    """(d, a, b, descriptor, ..., [predicate], modifiers): ``a`` a descriptor or tensor memory."""
    modifiers = strings(call, context)
    kind = next((word[len("kind::") :] for word in modifiers if word.startswith("kind::")), "")
    descriptor = known_bits(context.expr(call.args[3]))
    if kind not in _KINDS or not descriptor.knows(_SIZES):
        return not_understood(call, context, "its instruction descriptor is made at run time")
    dtype, k = _KINDS[kind]
    sparsity = 2 if "sp" in call.op.name.split("_") else 1
    n, m = (descriptor.value >> 17 & 0x3F) * 8, (descriptor.value >> 24 & 0x1F) * 16
    return _product(call, (m, n, k * sparsity), dtype, predicate(call, context), sparsity)


@accounts(
    "tir.cuda.tcgen05_encode_instr_descriptor",
    "tir.cuda.tcgen05.encode_instr_descriptor",
)
def describe(call: Any, context: Context) -> Statement:
    """(descriptor, three types, M, N, K, ...)."""
    return _create_descriptor(call, context, 4)


@accounts(
    "tir.cuda.tcgen05_encode_instr_descriptor_block_scaled",
    "tir.cuda.tcgen05.encode_instr_descriptor_block_scaled",
)
def describe_scaled(call: Any, context: Context) -> Statement:
    """(descriptor, five types, two addresses of scales, M, N, K, ...)."""
    return _create_descriptor(call, context, 8)


def _create_descriptor(call: Any, context: Context, first: int) -> Statement:
    sizes: Any = call.args[first : first + 2]
    attributes: Any = getattr(call, "attrs", None)
    if hasattr(attributes, "M") and hasattr(attributes, "N"):
        # In TIRx the sizes are attributes.
        sizes = attributes.M, attributes.N
    m, n = map(context.literal, sizes)
    if isinstance(m, int) and isinstance(n, int):
        # The other bits are types and layouts, which are not used.
        context.assign(
            call.args[0], ("|", ("&", "descriptor", ~_SIZES), n // 8 << 17 | m // 16 << 24)
        )
    return Call(label="T.{}()".format(short_name(call.op.name)))


@accounts("tl.tcgen05_ld", "tl.tcgen05_st")
@accounts("tl.ptx_tcgen05_cp_warpx4", "tl.ptx_tcgen05_sf_warp_transpose", "tir.ptx.tcgen05_cp")
@accounts("tir.ptx.tcgen05_shift")
def move(call: Any, context: Context) -> Statement:
    """``tcgen05.ld``, ``.st`` and ``.cp``: a warp accesses tensor memory."""
    return _move(call, ())


@accounts("tir.ptx.tcgen05_ld*")
def load(call: Any, context: Context) -> Statement:
    """(registers..., address in tensor memory, modifiers)."""
    return _move(call, tuple(registers(call, context, "write")))


@accounts("tir.ptx.tcgen05_st*")
def store(call: Any, context: Context) -> Statement:
    """(address in tensor memory, registers..., modifiers)."""
    return _move(call, tuple(registers(call, context, "read")))


def _move(call: Any, accesses: Tuple[Access, ...]) -> Statement:
    return Copy(label="T.{}()".format(short_name(call.op.name)), accesses=accesses)
