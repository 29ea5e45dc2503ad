"""Scalar functions of TVM and tilelang: which operation of `Arith` each of them is.

The names on the left are those of the operation's class in the cost tables (``exp``, ``rsqrt``).
A fast approximation (``tl.__exp``) has a name of its own (``fast_exp``), for it costs less than
the exact function.  What turns into no instruction (constants, reinterpretation of the bits,
hints, thread numbers) is registered with the empty string.

Sources: TVM ``python/tvm/tirx/op.py``, tilelang ``language/math_intrinsics.py``,
``src/op/math.cc`` and ``src/op/builtin.cc``; the PTX forms ``python/tvm/backend/cuda``.
"""

from __future__ import annotations

from .registry import scalars

_SAME_NAME = (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt rcp sin cos tan tanh sinh cosh asin acos atan "
    "asinh acosh atanh atan2 erf pow sigmoid hypot fma floor ceil trunc round"
)
for _name in _SAME_NAME.split():
    scalars(_name, "tir." + _name)

scalars("abs", "tir.fabs", "tir.abs", "tl.abs2")
scalars("mod", "tir.fmod")
scalars("round", "tir.nearbyint", "tir.rint", "tl.round_ties_away_from_zero")
scalars("pow", "tl.pow_of_int", "tir.ldexp")
scalars("bitwise", "tir.bitwise_and", "tir.bitwise_or", "tir.bitwise_xor", "tir.bitwise_not")
