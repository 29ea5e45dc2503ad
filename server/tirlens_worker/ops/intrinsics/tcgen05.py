"""Blackwell's tensor memory: its products, loads, stores and copies.

``tcgen05.mma`` is issued by one thread for the whole block; its M and N are bits of the instruction
descriptor (N/8 at bit 17, M/16 at bit 24) and its K is 32 bytes of operand.  A descriptor that is
computed at run time leaves the size unknown.  ``tcgen05.ld`` and ``st`` move, for each thread, as
many 32-bit registers as the call lists.

Sources: PTX ISA, "Instruction descriptor" and "tcgen05.mma"; tilelang ``cuda/language/tir.py``
(ptx_tcgen05_mma_ss(kind, a, a offset, b, b offset, c, c offset, descriptor, ...)),
``src/cuda/op/tcgen5_meta.h``; TVM ``backend/cuda/op.py``.
"""

from __future__ import annotations

from typing import Any, Optional

from ...facts import Arith, Statement
from ..build import bits, not_understood, short_name
from ..registry import Context, accounts

_BYTES_OF_K = 32


@accounts("tl.ptx_tcgen05_mma_ss", "tl.ptx_tcgen05_mma_ts", "tl.ptx_tcgen05_mma_blockscaled_ss")
def multiply(call: Any, context: Context) -> Statement:
    kind = context.literal(call.args[0])
    descriptor = _descriptor(call, context)
    if not isinstance(kind, str) or descriptor is None:
        return not_understood(call, context, "its instruction descriptor is not constant")
    n, m = (descriptor >> 17 & 0x3F) * 8, (descriptor >> 24 & 0x1F) * 16
    k = _BYTES_OF_K * 8 // bits("float32" if kind == "tf32" else kind)
    return Statement(
        op="mma",
        label="T.{}(m{}n{}k{})".format(short_name(call.op.name), m, n, k),
        arith=(
            Arith(
                op="mma",
                dtype="float32" if kind == "tf32" else kind,
                accumulator="float32",
                count=m * n * k,
                shape=(m, n, k),
            ),
        ),
        attributes={"lanes": 1},
    )


def _descriptor(call: Any, context: Context) -> Optional[int]:
    """The only constant among the arguments that is too large to be anything else."""
    found = (context.literal(node) for node in call.args[1:])
    return next((item for item in found if isinstance(item, int) and item >= 1 << 17), None)


@accounts("tir.ptx.tcgen05_mma*")
def multiply_of_ptx(call: Any, context: Context) -> Statement:
    return not_understood(call, context, "its instruction descriptor is made at run time")


@accounts("tl.tcgen05_ld", "tl.tcgen05_st", "tir.ptx.tcgen05_ld*", "tir.ptx.tcgen05_st*")
@accounts("tl.ptx_tcgen05_cp_warpx4", "tl.ptx_tcgen05_sf_warp_transpose", "tir.ptx.tcgen05_cp")
@accounts("tir.ptx.tcgen05_shift")
def move(call: Any, context: Context) -> Statement:
    return Statement(
        op="copy",
        label="T.{}()".format(short_name(call.op.name)),
        attributes={"tensor_memory": True},
    )
