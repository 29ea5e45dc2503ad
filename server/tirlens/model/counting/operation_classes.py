"""Arithmetic by class: what counts as a floating-point operation, and the sums of a node.

The contract's convention, *arithmetic issued, a multiply-accumulate = 2*:

==================================================  ======  ==========================
operation (floating point)                          FLOP    class in `flop_by_class`
==================================================  ======  ==========================
mma (count multiply-accumulates, sparse: executed)  2       tensor.<dtype>, or, of products that
                                                            accumulate in half precision,
                                                            tensor.<dtype>.float16
add sub mul div mod min max neg abs                 1       fp16 bf16 fp32 fp64
fma                                                 2       fp16 bf16 fp32 fp64
exp, log, sqrt, rsqrt, sin, tanh, erf, sigmoid ...  1       sfu
floor ceil trunc round, cast                        0       -
compare select logic shift bitwise, shuffle, place  0       -
==================================================  ======  ==========================

Integer arithmetic on data counts as `int_ops` (add sub mul div mod neg abs min max shift bitwise;
fma as 2), index arithmetic nowhere, and comparisons and selections no more than those of floating
point: one sets a predicate, the other moves a value.  A scalar float8 or smaller is computed as
fp16.

The instructions that an operation costs are the compiler's: see `gpu.compiler`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tirlens_worker.facts import Arith

from ..constants import constant
from ..dtypes import is_float, scalar_class, tensor_class

FLOAT_OPS = frozenset(["add", "sub", "mul", "div", "fma", "neg", "abs", "min", "max", "mod"])
FREE_OPS = frozenset(
    [
        "compare",
        "select",
        "logic",
        "shift",
        "bitwise",
        "cast",
        "shuffle",
        "place",
        "floor",
        "ceil",
        "trunc",
        "round",
    ]
)
INTEGER_OPS = frozenset(
    ["add", "sub", "mul", "div", "fma", "neg", "abs", "min", "max", "mod", "shift", "bitwise"]
)
PACKED_PRODUCTS = constant(
    "PACKED_PRODUCTS",
    {"int8": 4, "uint8": 4, "int16": 2, "uint16": 2},
    kind="isa",
    unit="products",
    meaning="Products of one dot-product instruction by the type of its operands.",
    source='PTX ISA, "dp4a" and "dp2a"',
)


@dataclass(frozen=True)
class OperationTotals:
    """Operations of a statement or a kernel.

    Attributes
    ----------
    flop_by_class
        Floating-point operations by class, such as ``fp32`` or ``tensor.fp16``.
    int_ops
        Integer operations on data.
    least_int_instructions
        The fewest instructions of 32 bits in which they can be done: multiply-adds of two
        operations, dot products of four 8-bit values of eight (CUDA C++ Programming Guide,
        "Arithmetic Instructions": both have the rate of an addition).
    unknown
        Names of operations whose cost is not known.
    """

    flop_by_class: Mapping[str, int] = field(default_factory=dict[str, int])
    int_ops: int = 0
    least_int_instructions: float = 0.0
    unknown: tuple[str, ...] = ()

    @property
    def flop(self) -> int:
        """Floating-point operations of all classes."""
        return sum(self.flop_by_class.values())


def sum_operations(counts: Iterable[tuple[Arith, int | None]]) -> OperationTotals:
    """Sum operations by class.

    Parameters
    ----------
    counts
        Operations with their number of executions over the launch.  Operations whose number is not
        known (None) are left out: the caller makes the sum unknown.
    """
    flop_by_class: dict[str, int] = {}
    unknown: list[str] = []
    int_ops = 0
    int_instructions = 0.0
    for arith, total in counts:
        if total is None or arith.index:
            continue
        if arith.op == "mma":
            name = tensor_class(arith.dtype, arith.accumulator)
            _add(flop_by_class, name, 2 * total // arith.sparsity)
            continue
        if arith.op.startswith("unknown:"):
            unknown.append(arith.op[len("unknown:") :])
            continue
        floating = is_float(arith.dtype)
        if arith.op in FLOAT_OPS and floating:
            _add(flop_by_class, scalar_class(arith.dtype), total * (2 if arith.op == "fma" else 1))
        elif arith.op in INTEGER_OPS and not floating:
            operations = total * (2 if arith.op == "fma" else 1)
            int_ops += operations
            packed = PACKED_PRODUCTS.get(arith.dtype, 1) if arith.op == "fma" else 1
            int_instructions += operations / (2 * packed)
        elif arith.op not in FREE_OPS and floating:
            _add(flop_by_class, "sfu", total)
    return OperationTotals(flop_by_class, int_ops, int_instructions, tuple(unknown))


def _add(table: dict[str, int], key: str, value: int) -> None:
    if value:
        table[key] = table.get(key, 0) + value
