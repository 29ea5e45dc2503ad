"""Calls of external functions: functions of CUDA by name, LLVM intrinsics, unknown functions.

Functions of CUDA and of tilelang's templates have the cost of their operation (``__expf``,
``AtomicAdd``, which tilelang before 0.1.7 called by name).  The cost of any other function, also of
a packed function, is not known: the statement has an operation ``unknown:<name>`` and a caveat.

Sources: tilelang ``language/atomic.py`` of 0.1.6, ``src/tl_templates/cuda/atomic.h``; the CUDA
math API for the scalar names.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Optional, Tuple

from ..facts import Access, Arith, Barrier, Call, Statement
from .atomic import update
from .build import label
from .intrinsics.dot import dot_product, dp4a_of_pointers
from .intrinsics.tensor_map import encode
from .intrinsics.warp import dtype_of
from .registry import Context, accounts, unknown
from .sync import barrier_kind

_ELEMENTARY = "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan tanh sinh cosh erf pow"
_OTHERS = {
    "fma": "fma fmaf __fmaf_rn hfma hfma2 __hfma2 __hfma",
    "max": "fmax fmaxf max hmax __hmax __hmax2",
    "min": "fmin fminf min hmin __hmin __hmin2",
    "abs": "fabs fabsf abs habs __habs __habs2",
    "add": "__hadd __hadd2 __fadd_rn",
    "mul": "__hmul __hmul2 __fmul_rn",
    "sub": "__hsub __hsub2",
    "floor": "floor floorf",
    "ceil": "ceil ceilf",
    "round": "round roundf nearbyint nearbyintf rint rintf",
    "rcp": "__frcp_rn rcp",
    "div": "__fdiv_rn",
    "fast_div": "__fdividef fdividef",
    "bitwise": "__popc __popcll __clz __clzll __brev __ffs __byte_perm",
    "shuffle": "__shfl_sync __shfl_xor_sync __shfl_down_sync __shfl_up_sync __shfl",
    "cast": "__float2half __half2float __float2half_rn __float2bfloat16 __bfloat162float",
    "compare": "isnan isinf isfinite",
    "atan2": "atan2 atan2f",
    "": "__float_as_int __float_as_uint __int_as_float __uint_as_float",
}


def _functions() -> Dict[str, str]:
    """The operation of `Arith` for each name; elementary functions of CUDA have four names."""
    out = {name: op for op, names in _OTHERS.items() for name in names.split()}
    for name in _ELEMENTARY.split():
        out.update({name: name, name + "f": name, "h" + name: name, "h2" + name: name})
        out["__" + name + "f"] = "fast_" + name
    return out


FUNCTIONS = _functions()

#: A function that is named after an instruction of PTX (``tanh.approx.f32``) wraps it.
_INSTRUCTION = re.compile(r"(?:^|_)(tanh|ex2|lg2|rcp|rsqrt|sqrt|sin|cos)_approx(?:_|$)")
_APPROXIMATE = {"ex2": "fast_exp2", "lg2": "fast_log2", "rcp": "rcp", "rsqrt": "rsqrt"}

_SYNCHRONIZING = (
    "__syncthreads",
    "__syncwarp",
    "__threadfence",
    "__nanosleep",
    "tl::fence",
    "tl::mbarrier",
)


#: A pure function of its operands; the others may read memory, clocks and counters.
unknown(
    "operands", "tir.call_pure_extern", "tir.call_spirv_pure_glsl450", "tir.call_llvm_pure_intrin"
)


@accounts("tir.call_extern", "tir.call_pure_extern", "tir.cuda.func_call")
@accounts("tir.tvm_call_packed*", "tir.tvm_call_cpacked*", "tir.tvm_call_trace_packed*")
@accounts("tir.call_ffi_kernel", "tir.call_spirv_pure_glsl450", "tir.anylist_setitem_call_*")
def call_extern(call: Any, context: Context) -> Statement:
    """A call by name: the operation of that name, else a call of unknown cost."""
    found = context.literal(call.args[0]) if len(call.args) else None
    name = found if isinstance(found, str) else call.op.name
    arguments = tuple(call.args[1:])
    if name == "runtime.cuTensorMapEncodeTiled":
        return encode(call, context)
    bare = name.rsplit("::", 1)[-1].split("<", 1)[0]
    if bare.startswith(("Atomic", "atomic")):
        target = context.region(arguments[0])
        if target is not None:
            return update(context, bare, target, arguments[1:2], _width(bare))
    if bare == "DP4A":
        return dp4a_of_pointers(arguments, context)
    if name.startswith(_SYNCHRONIZING):
        return Barrier(label=name + "()", kind=barrier_kind(name))
    product = dot_product(bare)
    reads, inside = _of_arguments(arguments, context)
    operation = FUNCTIONS.get(bare) or _operation_of(bare)
    if operation is None and product is None:
        context.add_caveat(
            "the cost of the function {!r} is not known; it is left out".format(name), function=name
        )
        return Call(
            label=name + "()",
            arith=(*inside, Arith(op="unknown:" + name, dtype=dtype_of(call))),
            accesses=reads,
        )
    costs: Tuple[Arith, ...] = ()
    if product is not None:
        costs = (product,)
    elif operation:
        costs = (Arith(op=operation, dtype=dtype_of(call)),)
    return Call(label=label(name), arith=(*inside, *costs), accesses=reads)


def _operation_of(name: str) -> Optional[str]:
    """The operation of the instruction in the name of a function; None without one."""
    found = _INSTRUCTION.search(name)
    return None if found is None else _APPROXIMATE.get(found[1], "fast_" + found[1])


def _width(name: str) -> int:
    return 4 if name.endswith("x4") else 2 if name.endswith("x2") else 1


def _of_arguments(
    arguments: Tuple[Any, ...], context: Context
) -> Tuple[Tuple[Access, ...], Tuple[Arith, ...]]:
    reads = tuple(read for node in arguments for read in context.accesses(node))
    inside = tuple(operation for node in arguments for operation in context.arith(node))
    return reads, inside
