"""Dot products of packed small integers and the LLVM intrinsics that TVM's tensorization uses.

One ``vpdpbusd`` of 512 bits multiplies 64 bytes and adds them in groups of 4 to 16 integers: 64
multiply-accumulates.  They do not use tensor cores: the operation is ``fma`` on the type of the
operands, with the type of the accumulator.  ``dp4a`` has 4, ``dp2a`` 2.

Sources: TVM ``s_tir/tensor_intrin`` (``x86.py``, ``arm_cpu.py``, ``hexagon.py``), ``tirx.dp4a``;
LLVM's IntrinsicsX86.td and IntrinsicsAArch64.td for the widths.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Optional, Sequence, Tuple

from ...facts import AccessMode, Arith, Call, Statement
from ..build import label, lanes, not_understood
from ..registry import Context, Region, accounts

# name of the intrinsic: (multiply-accumulates, dtype of the operands, accumulator)
_PRODUCTS = (
    (re.compile(r"vpdpbusds?\.512|avx512\.vpdpbusd"), 64, "int8", "int32"),
    (re.compile(r"vpdpbusds?\.256"), 32, "int8", "int32"),
    (re.compile(r"vpdpbusds?\.128"), 16, "int8", "int32"),
    (re.compile(r"pmaddubs\.w\.512|pmaddubsw\.512"), 64, "int8", "int16"),
    (re.compile(r"pmaddw\.d\.512"), 32, "int16", "int32"),
    (re.compile(r"avx2\.pmadd\.ub\.sw"), 32, "int8", "int16"),
    (re.compile(r"avx2\.pmadd\.wd"), 16, "int16", "int32"),
    (re.compile(r"neon\.[us]dot\.v4i32"), 16, "int8", "int32"),
    (re.compile(r"neon\.[us]dot\.v2i32"), 8, "int8", "int32"),
    (re.compile(r"neon\.[us]mmla"), 32, "int8", "int32"),
    (re.compile(r"hexagon\.V6\.vrmpy\w*\.128B"), 128, "uint8", "int32"),
    (re.compile(r"hexagon\.V6\.vrmpy"), 64, "uint8", "int32"),
    (re.compile(r"hexagon\.V6\.vdmpy\w*\.128B"), 64, "int16", "int32"),
    (re.compile(r"^__?dp4a|^dp4a"), 4, "int8", "int32"),
    (re.compile(r"^__?dp2a|^dp2a"), 2, "int16", "int32"),
    (re.compile(r"sme\.mopa\.nxv4f32"), 256, "float32", "float32"),
    (re.compile(r"sme\.mopa\.nxv8f16|sme\.mopa.*nxv8f16"), 512, "float16", "float32"),
)

_LANES = re.compile(r"\.v(\d+)([if])(\d+)|\.f(32|64|16)")

_ELEMENTWISE = {
    "fma": "fma",
    "fmuladd": "fma",
    "sqrt": "sqrt",
    "exp": "exp",
    "exp2": "exp2",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "pow": "pow",
    "sin": "sin",
    "cos": "cos",
    "fabs": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "round",
    "rint": "round",
    "nearbyint": "round",
    "maxnum": "max",
    "minnum": "min",
    "ctpop": "bitwise",
    "ctlz": "bitwise",
    "smax": "max",
    "smin": "min",
    "abs": "abs",
}
_FREE = ("prefetch", "donothing", "assume", "hexagon.V6.lo", "hexagon.V6.hi", "vscale", "za.enable",
         "za.disable", "aarch64.sme.zero", "whilelo", "ptrue")  # fmt: skip


def dot_product(name: str) -> Optional[Arith]:
    """The multiply-accumulates of one execution of the instruction `name`; None if it has none."""
    for pattern, count, dtype, accumulator in _PRODUCTS:
        if pattern.search(name):
            return Arith(op="fma", dtype=dtype, count=count, accumulator=accumulator)
    return None


@accounts("tir.dp4a", "tir.gpu_dp4a", "tl.dp4a")
def dp4a(call: Any, context: Context) -> Statement:
    """``dp4a(a, b[, c])`` on packed values."""
    operands = tuple(call.args)
    return Call(
        label="T.dp4a()",
        arith=(
            *(operation for node in operands for operation in context.arith(node)),
            Arith(op="fma", dtype="int8", count=4, accumulator="int32"),
        ),
        accesses=tuple(read for node in operands for read in context.accesses(node)),
    )


def dp4a_of_pointers(arguments: Sequence[Any], context: Context) -> Statement:
    """tilelang's ``DP4A(a, b, c)`` on pointers: 4 elements of `a` and `b`, accumulated in `c`."""
    a, b, c = (context.region(node) for node in arguments[:3])
    moves: Tuple[Tuple[Optional[Region], AccessMode, int], ...]
    moves = ((a, "read", 4), (b, "read", 4), (c, "read", 1), (c, "write", 1))
    return Call(
        label=label("dp4a", a, b, c),
        arith=(Arith(op="fma", dtype="int8", count=4, accumulator="int32"),),
        accesses=tuple(
            lanes(region, mode, "thread", count)
            for region, mode, count in moves
            if region is not None
        ),
    )


@accounts("tir.call_llvm_intrin", "tir.call_llvm_pure_intrin")
def call_llvm(call: Any, context: Context) -> Statement:
    """``call_llvm_intrin``: the dot product or arithmetic of that name."""
    name = _name(call, context)
    if name is None:
        return not_understood(call, context, "an LLVM intrinsic by number")
    operands = tuple(call.args[1:])
    costs = _cost(name)
    if costs is None:
        context.add_caveat(
            "the cost of LLVM's {!r} is not known; it is left out".format(name), function=name
        )
        costs = (Arith(op="unknown:" + name, dtype="handle"),)
    return Call(
        label=name + "()",
        arith=(*(operation for node in operands for operation in context.arith(node)), *costs),
        accesses=tuple(read for node in operands for read in context.accesses(node)),
    )


def _cost(name: str) -> Any:
    product = dot_product(name)
    if product is not None:
        return (product,)
    if any(part in name for part in _FREE):
        return ()
    parts = name.split(".")
    operation = _ELEMENTWISE.get(parts[1] if len(parts) > 1 else "")
    if operation is None:
        return None
    found = _LANES.search(name)
    count, dtype = 1, "float32"
    if found and found.group(1):
        count = int(found.group(1))
        dtype = ("int" if found.group(2) == "i" else "float") + found.group(3)
    elif found:
        dtype = "float" + found.group(4)
    return (Arith(op=operation, dtype=dtype, count=count),)


def _name(call: Any, context: Context) -> Optional[str]:
    first = context.literal(call.args[0])
    if isinstance(first, str):
        return first
    if not isinstance(first, int):
        return None
    return _by_number(first)


def _by_number(number: int) -> Optional[str]:
    """The name of an intrinsic by the loaded framework: numbers differ between LLVM versions."""
    codegen = sys.modules.get("tvm.target.codegen")
    if codegen is None:
        return None
    return str(codegen.llvm_get_intrinsic_name(number)) or None
