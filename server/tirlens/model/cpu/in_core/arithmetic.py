"""Arithmetic of a statement: simple operations, divisions, and calls of library functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tirlens_worker.facts import Arith

from ...constants import constant
from ...counting.operation_classes import FLOAT_OPS, FREE_OPS, INTEGER_OPS
from ...dtypes import bits, is_float
from ...tree.context import EnclosingLoop
from ..compiler.loop_nests import Nest
from ..compiler.statements import NestStatement, distinct_operations

CALL_COST_RATIOS: Mapping[str, float] = constant(
    "CALL_COST_RATIOS",
    {
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
    },
    kind="measured",
    unit="ratio",
    meaning="Time of a call of a C library function over that of ``expf``.",
    source="measured with glibc 2.36 on x86",
)
OTHER_CALL_COST_RATIO = constant(
    "OTHER_CALL_COST_RATIO",
    1.5,
    kind="estimate",
    unit="ratio",
    meaning="Time of a call of another C library function over that of ``expf``.",
    source="as of ``sin``",
)
# Operations that vectors have an instruction for.
VECTOR_OPS = FLOAT_OPS | FREE_OPS | INTEGER_OPS | {"mma"}
DIVISIONS: Mapping[str, float] = constant(
    "DIVISIONS",
    {
        "div": 1.0,
        "mod": 1.0,
        "sqrt": 1.2,
        "rsqrt": 2.2,
        "rcp": 1.0,
        "sigmoid": 1.0,
    },
    kind="measured",
    unit="divisions",
    meaning=(
        "Divisions in an operation, each in the divide unit. A square root takes a fifth longer."
    ),
    source="uops.info, ``vsqrtps``, 6 clocks, and ``vdivps``, 5, since Skylake",
)
INTEGER_DIVISION_INSTRUCTIONS = constant(
    "INTEGER_DIVISION_INSTRUCTIONS",
    3,
    kind="estimate",
    unit="instructions",
    meaning="Instructions of an integer division.",
)
INTEGER_PRODUCT_INSTRUCTIONS = constant(
    "INTEGER_PRODUCT_INSTRUCTIONS",
    2,
    kind="measured",
    unit="instructions",
    meaning="Instructions of a product of two vectors of 32-bit integers.",
    source="uops.info, ``vpmulld`` on x86",
)
NARROWING_INSTRUCTIONS = constant(
    "NARROWING_INSTRUCTIONS",
    4.0,
    kind="fitted",
    unit="instructions",
    meaning=(
        "Cost of narrowing a vector besides the conversion, in simple operations, which have "
        "two ports."
    ),
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
# Operations that take no instruction of their own.
FOLDED_OPS = frozenset({"neg", "logic"})


@dataclass(frozen=True)
class Arithmetic:
    """Operations of one execution of a statement; `calls` in multiples of a call of ``expf``."""

    simple: float
    divisions: float
    calls: float


def count_arithmetic(statement: NestStatement, nest: Nest) -> Arithmetic:
    """The operations that one execution of a statement takes after hoisting and contraction."""
    executions = max(statement.executions, 1)
    simple = divisions = calls = 0.0
    adds = multiplies = 0.0
    for entry in statement.node.count.arith:
        arith = entry.arith
        if arith.index or entry.total is None or arith.op.startswith("unknown:"):
            continue
        each = distinct_operations(entry) / executions / _sharing_executions(arith, statement, nest)
        name = arith.op.removeprefix("fast_")
        divisions += each * DIVISIONS.get(name, 0.0) if is_float(arith.dtype) else 0.0
        if name in CALL_COST_RATIOS:
            calls += each * CALL_COST_RATIOS[name]
        elif is_float(arith.dtype) and name not in VECTOR_OPS and name not in DIVISIONS:
            calls += each * OTHER_CALL_COST_RATIO
        elif name in ("add", "sub") and is_float(arith.dtype):
            adds += each
        elif name == "mul" and is_float(arith.dtype):
            multiplies += each
        elif name == "cast":
            simple += each * _cast_instructions(arith)
        elif name not in DIVISIONS or not is_float(arith.dtype):
            is_folded = name in FOLDED_OPS
            simple += 0.0 if is_folded else each * _instructions(arith, statement, nest)
    # The compiler contracts a * b + c.
    return Arithmetic(simple + max(adds, multiplies), divisions, calls)


def _instructions(arith: Arith, statement: NestStatement, nest: Nest) -> int:
    """Instructions of a simple operation."""
    if arith.op in ("div", "mod"):
        return INTEGER_DIVISION_INSTRUCTIONS
    is_vector = nest.is_vectorized or statement.lanes > 1
    is_product = arith.op == "mul" and is_vector and bits(arith.dtype) == 32
    return INTEGER_PRODUCT_INSTRUCTIONS if is_product else 1


def _cast_instructions(arith: Arith) -> float:
    """Instructions of a conversion of one vector of the operand.

    Shuffles narrow integers, and join the vectors that result (AVX-512's ``vpmovdw`` and
    ``vpmovwb`` are two each on one port, after uops.info).
    """
    width, target = bits(arith.dtype) or 32, bits(arith.accumulator or arith.dtype) or 32
    is_narrowing = target < width and not is_float(arith.accumulator or "")
    return 1.0 + (NARROWING_INSTRUCTIONS if is_narrowing else 0.0)


def _sharing_executions(arith: Arith, statement: NestStatement, nest: Nest) -> float:
    """Executions of a statement that share one result, because the compiler hoists it.

    The compiler hoists out of a loop what it knows to be invariant: in a loop that it vectorizes,
    after a check for overlap (LLVM's LoopVersioning and LICM), and in arrays that are no
    parameters.
    """
    if arith.over is None:
        return 1.0
    unrolled = [loop for loop in statement.inner_loops if loop.kind != "vectorized"]
    loops = [*([nest.loop] if nest.loop else ()), *unrolled]
    return float(
        math.prod(
            loop.trip_count for loop in loops if _is_hoisted(arith.over, loop, statement, nest)
        )
    )


def _is_hoisted(
    variables: Sequence[str], loop: EnclosingLoop, statement: NestStatement, nest: Nest
) -> bool:
    """Whether an operation that depends on `variables` is computed outside of a loop."""
    if loop.var in variables:
        return False
    invariant = [read for read in statement.reads if loop.var not in read.variables]
    stored = {write.buffer for other in nest.statements for write in other.writes}
    if any(read.buffer in stored for read in invariant):
        return False
    return nest.is_vectorized or not any(statement.is_parameter(read) for read in invariant)
