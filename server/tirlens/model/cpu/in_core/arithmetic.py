"""What a statement computes: simple operations, divisions, and calls of library functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tirlens_worker.facts import Arith

from ...counting.operation_classes import FLOAT_OPS, FREE_OPS, INTEGER_OPS
from ...dtypes import bits, is_float
from ...tree.context import EnclosingLoop
from ..compiler.loop_nests import Nest
from ..compiler.statements import Leaf, distinct

# A call of a function of the C library, over one of expf; measured with glibc 2.36 on x86.
CALLS: Mapping[str, float] = {
    "exp": 1.0,
    "exp2": 1.0,
    "log": 1.0,
    "log2": 1.0,
    "sin": 1.5,
    "cos": 1.5,
    "tan": 2.5,
    "tanh": 2.3,
    "sigmoid": 1.0,
    "erf": 2.0,
    "pow": 2.5,
    "pow_of_constant": 2.5,
    "log1p": 2.0,
    "log10": 1.5,
    "exp10": 1.5,
}
# Of a function that is not among them: an estimate, as of sin.
OTHER_CALL = 1.5
VECTOR_OPS = FLOAT_OPS | FREE_OPS | INTEGER_OPS | {"mma"}
# Divisions and square roots in an operation, which one unit computes slowly, a root (uops.info:
# ``vsqrtps``, 6 clocks, and ``vdivps``, 5, since Skylake) by a fifth.
DIVISIONS: Mapping[str, float] = {
    "div": 1.0,
    "mod": 1.0,
    "sqrt": 1.2,
    "rsqrt": 2.2,
    "rcp": 1.0,
    "sigmoid": 1.0,
}
# Beside the conversion itself, in units of a simple operation, which has two ports: looked at.
PACKING = 4.0
FREE = frozenset({"neg", "logic"})


def computed(leaf: Leaf, nest: Nest) -> tuple[float, float, float]:
    """Operations per execution: simple ones, divisions, and calls of library functions."""
    executions = max(leaf.executions, 1)
    simple = divisions = calls = 0.0
    adds = multiplies = 0.0
    for entry in leaf.item.count.arith:
        arith = entry.arith
        if arith.index or entry.total is None or arith.op.startswith("unknown:"):
            continue
        each = distinct(entry) / executions / _hoisted(arith, leaf, nest)
        name = arith.op.removeprefix("fast_")
        divisions += each * DIVISIONS.get(name, 0.0) if is_float(arith.dtype) else 0.0
        if name in CALLS:
            calls += each * CALLS[name]
        elif is_float(arith.dtype) and name not in VECTOR_OPS and name not in DIVISIONS:
            calls += each * OTHER_CALL
        elif name in ("add", "sub") and is_float(arith.dtype):
            adds += each
        elif name == "mul" and is_float(arith.dtype):
            multiplies += each
        elif name == "cast":
            simple += each * _cast(arith)
        elif name not in DIVISIONS or not is_float(arith.dtype):
            simple += 0.0 if name in FREE else each * _instructions(arith, leaf, nest)
    # The compiler contracts a * b + c.
    return simple + max(adds, multiplies), divisions, calls


def _instructions(arith: Arith, leaf: Leaf, nest: Nest) -> int:
    """Instructions of an operation on integers; products of vectors of 32 bits are two.

    After uops.info: ``vpmulld`` on x86.
    """
    if arith.op in ("div", "mod"):
        return 3
    vector = nest.vectorised or leaf.lanes > 1
    return 2 if arith.op == "mul" and vector and bits(arith.dtype) == 32 else 1


def _cast(arith: Arith) -> float:
    """Instructions of a conversion, for a vector of its operand.

    Narrower integers are packed by shuffles (AVX-512's ``vpmovdw`` and ``vpmovwb`` are two each on
    one port, after uops.info), with what joins their vectors.
    """
    width, target = bits(arith.dtype) or 32, bits(arith.accumulator or arith.dtype) or 32
    packed = target < width and not is_float(arith.accumulator or "")
    return 1.0 + (PACKING if packed else 0.0)


def _hoisted(arith: Arith, leaf: Leaf, nest: Nest) -> float:
    """How many executions of a statement share one result, which the compiler takes out of loops.

    It does so where it knows that no iteration changes what the result is made of: in a loop that
    it vectorises, having compared the arrays' places (LLVM's LoopVersioning and LICM), and of the
    kernel's own arrays.
    """
    if arith.over is None:
        return 1.0
    unrolled = [loop for loop in leaf.inner if loop.kind != "vectorized"]
    loops = [*([nest.loop] if nest.loop else ()), *unrolled]
    shared = (loop.extent or 1 for loop in loops if _outside(arith.over, loop, leaf, nest))
    return float(math.prod(shared))


def _outside(over: Sequence[str], loop: EnclosingLoop, leaf: Leaf, nest: Nest) -> bool:
    """Whether what depends on the loops `over` is computed outside of another one."""
    if loop.var in over:
        return False
    fixed = [read for read in leaf.reads if loop.var not in read.variables]
    stored = {write.buffer for other in nest.leaves for write in other.writes}
    if any(read.buffer in stored for read in fixed):
        return False
    return nest.vectorised or not any(leaf.is_parameter(read) for read in fixed)
