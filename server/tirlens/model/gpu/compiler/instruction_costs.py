"""Instructions of one thread for each operation, by unit of the SM.

An addition takes the slot of a fused multiply-add, a division several.  The table
`INSTRUCTIONS_PER_OPERATION` has what ptxas 12.9 makes of CUDA 12.9's functions for sm_80 and sm_90
on the path of ordinary values: with branches, without constants that a loop keeps (throughputs:
CUDA C++ Programming Guide, "Arithmetic Instructions").

Conversions between narrow floating-point types and float32 bypass the conversion unit: HADD2.F32
converts a half, IMAD.U32 or PRMT a bfloat16; one F2FP of the integer pipeline converts two floats
to halves, and from sm_89 two float8 to halves and back.  Conversions between integers and floating
point use the conversion unit, at a quarter of the arithmetic rates or less.  Sources: the
instructions that ptxas 12.9 gives for sm_80 and sm_90 (`tests/measured/sass.py`); NVIDIA Nsight
Compute, "Pipelines": the ALU "performs fast FP32-to-FP16 conversion" from Ampere on, the FP16
pipeline has "a fast FP32-to-FP16 and FP16-to-FP32 converter".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import NamedTuple

from tirlens_worker.facts import Arith

from ...constants import constant
from ...dtypes import bits, is_float, scalar_class

# By unit and class of type: ``("fma", "fp32")``.
Instructions = dict[tuple[str, str], float]

INSTRUCTIONS_PER_OPERATION: Mapping[str, Mapping[str, float]] = constant(
    "INSTRUCTIONS_PER_OPERATION",
    {
        "add": {"fma": 1},
        "sub": {"fma": 1},
        "mul": {"fma": 1},
        "fma": {"fma": 1},
        "neg": {"fma": 0},
        "abs": {"fma": 0},
        "min": {"int": 1},
        "max": {"int": 1},
        "compare": {"int": 1},
        "select": {"int": 1},
        "logic": {"int": 0.5},
        "shift": {"int": 1},
        "bitwise": {"int": 1},
        "cast": {"cvt": 1},
        "floor": {"cvt": 1},
        "ceil": {"cvt": 1},
        "trunc": {"cvt": 1},
        "round": {"cvt": 1},
        "div": {"sfu": 1, "fma": 5, "int": 4},
        "mod": {"sfu": 1, "fma": 14, "int": 8},
        "exp": {"sfu": 1, "fma": 6, "int": 1},
        "exp2": {"sfu": 1, "fma": 2, "int": 1},
        "exp10": {"sfu": 1, "fma": 6, "int": 1},
        "log": {"fma": 15, "int": 10},
        "log2": {"fma": 17, "int": 10},
        "log10": {"fma": 16, "int": 10},
        "log1p": {"fma": 17, "int": 11},
        "sqrt": {"sfu": 1, "fma": 4, "int": 5},
        "rsqrt": {"sfu": 1, "fma": 2, "int": 1},
        "rcp": {"sfu": 1, "fma": 3, "int": 6},
        "sin": {"fma": 15, "int": 10, "cvt": 1},
        "cos": {"fma": 15, "int": 11, "cvt": 1},
        "tan": {"sfu": 1, "fma": 26, "int": 14},
        "tanh": {"sfu": 2, "fma": 9, "int": 4},
        "sigmoid": {"sfu": 2, "fma": 10, "int": 7},
        "erf": {"sfu": 1, "fma": 9, "int": 11},
        "pow": {"sfu": 1, "fma": 44, "int": 27, "cvt": 3},
        # The logarithm of the base is a constant: nvcc 13.0, sm_90a, powf(1e4f, x), unrolled loop.
        "pow_of_constant": {"fma": 14, "int": 12, "cvt": 2},
        "shuffle": {"shuffle": 1},
        "place": {"int": 1},
    },
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions per operation by unit: sfu (special functions), fma (the floating-point "
        "cores), int (integer, compare and select), cvt (conversions). On the path of "
        "ordinary values, with branches, without constants that a loop keeps."
    ),
    source=(
        "ptxas 12.9 of CUDA 12.9's functions for sm_80 and sm_90; pow_of_constant, whose "
        "logarithm of the base is a constant: nvcc 13.0, sm_90a, powf(1e4f, x), unrolled loop"
    ),
)
_FP64_INSTRUCTIONS: Mapping[str, Mapping[str, float]] = constant(
    "FP64_INSTRUCTIONS",
    {
        "min": {"fma": 1, "int": 2},
        "max": {"fma": 1, "int": 2},
        "compare": {"fma": 1},
    },
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions of operations on doubles that differ: DSETP compares on the fp64 unit; "
        "FSEL and SEL select the two words."
    ),
    source="nvcc 13.0 for sm_86",
)
_DEFAULT_FUNCTION_INSTRUCTIONS: Mapping[str, float] = constant(
    "DEFAULT_FUNCTION_INSTRUCTIONS",
    {"sfu": 1, "fma": 24},
    kind="estimate",
    unit="instructions",
    meaning="Instructions of a function without an entry.",
    source="like the longer entries of INSTRUCTIONS_PER_OPERATION",
)
_INTEGER_INSTRUCTIONS: Mapping[str, float] = constant(
    "INTEGER_INSTRUCTIONS",
    {"div": 3, "mod": 4, "fma": 1, "logic": 0.5},
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions of integer operations that differ. Division is mostly by a constant: a "
        "multiplication and shifts. LOP3 is two logical operations."
    ),
    source="see CONSTANT_DIVISION_INSTRUCTIONS; PTX ISA, lop3",
)
_INTRINSIC_INSTRUCTIONS: Mapping[str, float] = constant(
    "INTRINSIC_INSTRUCTIONS",
    {"sfu": 1, "fma": 1},
    kind="compiler",
    unit="instructions",
    meaning="Instructions of an intrinsic function: MUFU and one multiplication.",
    source='CUDA C++ Programming Guide, "Intrinsic Functions"',
)
_FAST_MATH_INSTRUCTIONS: Mapping[str, Mapping[str, float]] = constant(
    "FAST_MATH_INSTRUCTIONS",
    {
        **dict.fromkeys(
            ("div", "exp", "exp10", "log", "log10", "sin", "cos", "sqrt"), _INTRINSIC_INSTRUCTIONS
        ),
        "exp2": {"sfu": 1},
        "log2": {"sfu": 1},
        "rcp": {"sfu": 1},
        "rsqrt": {"sfu": 1},
        "tan": {"sfu": 3, "fma": 3},
        "tanh": {"sfu": 1},
        "sigmoid": {"sfu": 2, "fma": 2},
        "pow": {"sfu": 2, "fma": 1},
        "pow_of_constant": {"sfu": 1, "fma": 1},
    },
    kind="compiler",
    unit="instructions",
    meaning="Instructions in single precision with nvcc's --use_fast_math.",
    source=(
        'CUDA C++ Programming Guide, "Intrinsic Functions"; -ftz=true, -prec-div=false, '
        "-prec-sqrt=false"
    ),
)
# Operations with a slow path for rare values, to which the code branches unless it may approximate.
# A branch ends the batch of loads: nvcc 13.0 for sm_80 and sm_90 issues four to sixteen loads of a
# loop together in front of additions, exp, exp2, log, log1p, rsqrt, tanh or erf, and single loads
# in front of these operations.
BRANCHING_OPS = frozenset(["div", "mod", "rcp", "sqrt", "sin", "cos", "tan", "pow", "sigmoid"])
_FROM_HALF_INSTRUCTIONS: Mapping[str, Mapping[str, float]] = constant(
    "FROM_HALF_INSTRUCTIONS",
    {
        "float16": {"fma": 1},
        "bfloat16": {"int": 1},
    },
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions that convert a half or a bfloat16 to float32: HADD2.F32; IMAD.U32 or PRMT."
    ),
    source="ptxas 12.9 for sm_80 and sm_90 (`tests/measured/sass.py`)",
)
_PACKED_INSTRUCTIONS: Mapping[str, float] = constant(
    "PACKED_INSTRUCTIONS",
    {"int": 1},
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions that convert two floats to halves, and from sm_89 two float8: F2FP of "
        "the integer pipeline."
    ),
    source=(
        'ptxas 12.9 for sm_80 and sm_90; Nsight Compute, "Pipelines": fast FP32-to-FP16 '
        "conversion from Ampere on"
    ),
)
_NARROW_INSTRUCTIONS: Mapping[str, float] = constant(
    "NARROW_INSTRUCTIONS",
    {"int": 1.5},
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions that extract an integer below 32 bits from a word or insert it: one or "
        "two PRMT."
    ),
    source="ptxas 12.9",
)
_CONVERSION_INSTRUCTIONS: Mapping[str, float] = constant(
    "CONVERSION_INSTRUCTIONS",
    {"cvt": 1},
    kind="compiler",
    unit="instructions",
    meaning="Instructions of another conversion.",
    source='CUDA C++ Programming Guide, "Arithmetic Instructions"',
)
_FP64_CONVERSION_INSTRUCTIONS: Mapping[str, float] = constant(
    "FP64_CONVERSION_INSTRUCTIONS",
    {"cvt": 1, "fma": 1},
    kind="isa",
    unit="instructions",
    meaning=(
        "Instructions of a 64-bit conversion, which runs at the lower rate of the conversion "
        "unit and fp64 arithmetic."
    ),
    source=(
        "per clock and SM 16 for compute capability 6.0, 7.0, 8.0 and 9.0, 4 for 6.1, 2 for "
        '7.5, 8.6 and 8.9 (CUDA C++ Programming Guide, "Arithmetic Instructions": type '
        "conversions from and to 64-bit types)"
    ),
)
WORD_BITS = constant(
    "WORD_BITS",
    32,
    kind="isa",
    unit="bits",
    meaning="Width of a register.",
    source="PTX ISA",
)


class IssuedOperations(NamedTuple):
    """The instructions of a statement's operations, over the launch.

    Attributes
    ----------
    instructions
        Instructions of threads by unit and class of type, such as ``("fma", "fp32")``.  Matrix
        instructions are left out.
    has_slow_path
        Whether the code of an operation branches to a slow path for rare values.
    """

    instructions: Instructions
    has_slow_path: bool


def issue_operations(
    counts: Iterable[tuple[Arith, int | None]],
    shares: Iterable[float] = repeat(1.0),
    fast_math: bool = False,
) -> IssuedOperations:
    """The instructions that the compiler issues for operations.

    Parameters
    ----------
    counts
        Operations with their number of executions over the launch; None where it is not known.
    shares
        Of each operation, the share of its executions that are instructions.
    fast_math
        Whether the compiler may approximate functions of single precision.
    """
    instructions: Instructions = {}
    slow = False
    # The shares may be an endless iterator.
    for (arith, total), share in zip(counts, shares):  # noqa: B905
        if total is None or arith.index or arith.op == "mma" or arith.op.startswith("unknown:"):
            continue
        slow = slow or has_slow_path(arith, fast_math)
        add_instructions(instructions, arith, total, share, fast_math)
    contract_multiply_adds(instructions)
    return IssuedOperations(instructions, slow)


def has_slow_path(arith: Arith, fast_math: bool) -> bool:
    """Whether the code of an operation branches to a slow path for rare values."""
    name = scalar_class(arith.dtype)
    if not is_float(arith.dtype) or (fast_math and name == "fp32"):
        return False
    return arith.op in BRANCHING_OPS and name in ("fp32", "fp64")


def add_instructions(
    out: Instructions, arith: Arith, total: int, share: float, fast_math: bool
) -> None:
    """Add the instructions of `total` executions of an operation, of which `share` are issued.

    Additions and products that may be contracted are kept until `contract_multiply_adds`.
    """
    floating = is_float(arith.dtype)
    name = scalar_class(arith.dtype)
    fast = arith.op.startswith("fast_")
    costs = (
        _INTRINSIC_INSTRUCTIONS
        if fast
        else INSTRUCTIONS_PER_OPERATION.get(arith.op, _DEFAULT_FUNCTION_INSTRUCTIONS)
    )
    if fast_math and name == "fp32":
        costs = _FAST_MATH_INSTRUCTIONS.get(arith.op, costs)
    if arith.op == "cast" and arith.accumulator is not None:
        costs = conversion_instructions(arith.dtype, arith.accumulator)
        name = "fp64" if "float64" in (arith.dtype, arith.accumulator) else "fp32"
    elif name == "fp64":
        costs = _FP64_INSTRUCTIONS.get(arith.op, costs)
    elif not floating and arith.op not in ("cast", "shuffle"):
        costs = {"int": _INTEGER_INSTRUCTIONS.get(arith.op, 1.0)}
    for unit, cost in costs.items():
        key = (unit, name)
        if cost:
            out[key] = out.get(key, 0.0) + cost * total * share
    if floating and arith.op == "mul":
        products = ("lone mul", name)
        out[products] = out.get(products, 0.0) + total * share
    elif floating and arith.op in ("add", "sub") and ("lone mul", name) in out:
        # Operations are in evaluation order: an addition before any product is not contracted.
        sums = ("lone add", name)
        out[sums] = out.get(sums, 0.0) + total * share


def contract_multiply_adds(out: Instructions) -> None:
    """Contract ``a * b + c``, ``a * b - c`` and ``c - a * b`` to fused multiply-adds.

    Each contraction saves one instruction; the smaller number of additions and products limits it.
    """
    for name in dict.fromkeys(name for _, name in out):
        adds = out.pop(("lone add", name), 0.0)
        multiplies = out.pop(("lone mul", name), 0.0)
        if adds and multiplies:
            out[("fma", name)] -= min(adds, multiplies)


def conversion_instructions(source: str, target: str) -> Mapping[str, float]:
    """Instructions by unit for the conversion of one value."""
    if _is_integer(source) and _is_integer(target):
        return {} if bits(source) == bits(target) else {"int": 1}
    if source == target:
        return {}
    if _is_integer(source) or _is_integer(target):
        integer = source if _is_integer(source) else target
        narrow = (bits(integer) or WORD_BITS) < WORD_BITS
        # The unit gives floats, from which halves are made.
        rest = {"fma": 1, "int": 0.5} if target in _FROM_HALF_INSTRUCTIONS else {}
        return _add_instructions(
            _CONVERSION_INSTRUCTIONS, _NARROW_INSTRUCTIONS if narrow else {}, rest
        )
    if "float64" in (source, target):
        return _FP64_CONVERSION_INSTRUCTIONS
    if source.startswith("float8"):
        return _add_instructions(
            _PACKED_INSTRUCTIONS, _FROM_HALF_INSTRUCTIONS["float16"] if target == "float32" else {}
        )
    return _add_instructions(
        _FROM_HALF_INSTRUCTIONS.get(source, {}), {} if target == "float32" else _PACKED_INSTRUCTIONS
    )


def is_packed(source: str, target: str) -> bool:
    """Whether one instruction converts two neighbouring elements."""
    types = {source, target}
    eight = any(name.startswith("float8") for name in types)
    return eight or (source == "float32" and target in _FROM_HALF_INSTRUCTIONS)


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool"))


def _add_instructions(*costs: Mapping[str, float]) -> Mapping[str, float]:
    out: Counter[str] = Counter()
    for cost in costs:
        out.update(cost)  # pyright: ignore[reportArgumentType]
    return out
