"""The operations (`Arith.op`) and the values of the scalar functions of TVM and tilelang.

An operation is named by its cost class (``exp``, ``rsqrt``, ``bitwise``).  A fast approximation
(``tl.__exp``) has a class of its own (``fast_exp``), because it costs less than the exact function.
Packed forms (``tl.add2``) are the operation on a two-lane type.  A function of several operations
has the names of all.  Functions without an instruction (constants, reinterpretation of bits, hints)
have the empty string.  Functions of integers that an index may use have a value.

Sources: TVM ``tirx/op.py``; tilelang ``language/math_intrinsics.py``, ``src/op/math.cc``,
``src/op/builtin.cc``, ``src/cuda/op/builtin.cc``.
"""

from __future__ import annotations

from typing import Any, Optional

from ..facts import Expr
from .registry import Values, gives, scalars

_SAME_NAME = (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt rcp sin cos tan tanh sinh cosh asin acos atan "
    "asinh acosh atanh atan2 erf pow sigmoid hypot floor ceil trunc round"
)
for _name in _SAME_NAME.split():
    scalars(_name, "tir." + _name)

scalars("abs", "tir.fabs", "tir.abs", "tl.abs2", "tir.copysign")
scalars("mod", "tir.fmod")
scalars("round", "tir.nearbyint", "tir.rint", "tl.round_ties_away_from_zero")
scalars("pow", "tir.ldexp", "tl.pow_of_int", "tir.nextafter")
scalars("fma", "tir.fma", "tl.fma", "tl.fma2", "tl.ieee_fmaf")
scalars("add", "tl.add2", "tl.ieee_add", "tir.cuda.fadd2_rn")
scalars("sub", "tl.sub2", "tl.ieee_sub")
scalars("mul", "tl.mul2", "tl.ieee_mul", "tl.fmul", "tir.cuda.fmul2_rn")
scalars("div", "tl.ieee_fdiv")
scalars("rcp", "tl.ieee_frcp")
scalars("sqrt", "tl.ieee_fsqrt")
scalars("rsqrt", "tl.ieee_frsqrt")
scalars("max", "tl.max2", "tl.max_nan", "tl.max2_nan", "tir.cuda.hmax2")
scalars("min", "tl.min2", "tl.min_nan", "tl.min2_nan", "tir.cuda.hmin2")
scalars("max min", "tl.clamp")

for _name in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan"):
    scalars("fast_" + _name, "tl.__" + _name)
scalars("fast_rcp", "tl.fast_rcp")
scalars("fast_div", "tir.cuda.fdividef")

scalars(
    "bitwise",
    "tir.bitwise_and",
    "tir.bitwise_or",
    "tir.bitwise_xor",
    "tir.bitwise_not",
    "tir.popcount",
    "tir.ctpop",
    "tir.clz",
    "tl.__ffs",
    "tl.__fns",
    "tir.cuda.ffs_u32",
    # Packing bytes and halves into a word is one byte permutation.
    "tl.pack_b16",
    "tl.pack_b8x4",
)
scalars("shift", "tir.shift_left", "tir.shift_right")
scalars("compare", "tir.isnan", "tir.isinf", "tir.isfinite", "tir.isnullptr")
scalars("q_multiply_shift", "tir.q_multiply_shift", "tir.q_multiply_shift_per_axis")
scalars(
    "cast",
    "tir.cuda.half2float",
    "tir.cuda.bfloat162float",
    "tir.cuda.bfloat1622float2",
    "tir.cuda.float22bfloat162_rn",
    "tir.cuda.float22bfloat162_rn_from_float2",
    "tir.cuda.float22half2",
    "tir.cuda.float8tohalf8",
    "tir.cuda.half8tofloat8",
    "tir.cuda.fp8x4_e4m3_from_float4",
)
scalars("random", "tl.rng_rand", "tl.rng_rand_float")

_FREE = """
    tl.infinity tir.undef tir.type_annotation
    tir.tvm_context_id tir.assume
    tir.get_active_lane_mask tir.vectorlow tir.vectorhigh tir.vectorcombine tir.ptr_byte_offset
    tir.handle_add_byte_offset tir.buffer_data tir.buffer_offset tir.address_of
    tir.tvm_access_ptr tl.access_ptr tl.region tir.tvm_struct_get tir.tvm_stack_alloca
    tir.tvm_stack_make_array tir.tvm_stack_make_shape tir.tvm_static_handle tir.anylist_getitem
    tir.TVMBackendAllocWorkspace tir.tvm_tuple tir.filter tir.selector
    tl.increase_descriptor_offset
    tir.cuda.float_as_uint tir.cuda.uint_as_float tir.cuda.float2_x tir.cuda.float2_y
    tir.cuda.make_float2 tir.cuda.get_tmem_addr tir.cuda.cvta_generic_to_shared
    tir.cuda.smem_addr_from_uint64 tir.cuda.sm100_2sm_leader_smem_addr
    tir.cuda.iket_sentinel_token tir.cuda.runtime_instr_desc
    tir.ptx.addr tir.ptx.map_shared_rank tir.ptx.mapa
    tir.ptx.createpolicy_fractional
"""
scalars("", *_FREE.split())

#: Functions whose value is that of their operand, also hints to the compiler.
_SAME = (
    "tir.likely",
    "tir.reinterpret",
    "tir.tvm_thread_invariant",
    "tir.ret",
    "tir.ignore_loop_partition",
)
scalars("", "tir.likely", "tir.reinterpret", "tir.tvm_thread_invariant")
scalars("", "tir.ignore_loop_partition", "tir.large_uint_imm")


@gives(*_SAME)
def operand(call: Any, values: Values) -> Optional[Expr]:
    """The operand."""
    return values.expr(call.args[0]) if len(call.args) else None


@gives("tir.large_uint_imm")
def large_constant(call: Any, values: Values) -> Optional[Expr]:
    """``large_uint_imm(low, high)``: a constant of 64 bits."""
    low, high = (values.literal(node) for node in call.args[:2])
    return (high << 32) + low if isinstance(low, int) and isinstance(high, int) else None


@gives("tir.if_then_else")
def choice(call: Any, values: Values) -> Optional[Expr]:
    """``if_then_else(condition, then, else)``, of which one side is evaluated."""
    return ("select", *(values.expr(node) for node in call.args))


_OPERATORS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}


@gives(*("tir." + name for name in _OPERATORS))
def bits_of_two(call: Any, values: Values) -> Optional[Expr]:
    """An operation on the bits of two integers; a call before apache-tvm 0.27."""
    operator = _OPERATORS[call.op.name.rpartition(".")[2]]
    return (operator, values.expr(call.args[0]), values.expr(call.args[1]))


@gives("tir.bitwise_not")
def bits_of_one(call: Any, values: Values) -> Optional[Expr]:
    """The complement."""
    return ("~", values.expr(call.args[0]))


@gives("tir.abs")
def magnitude(call: Any, values: Values) -> Optional[Expr]:
    """The absolute value."""
    value = values.expr(call.args[0])
    return ("max", value, ("-", 0, value))


@gives("tl.clamp")
def clamp(call: Any, values: Values) -> Optional[Expr]:
    """``clamp(value, low, high)``."""
    value, low, high = (values.expr(node) for node in call.args[:3])
    return ("min", ("max", value, low), high)
