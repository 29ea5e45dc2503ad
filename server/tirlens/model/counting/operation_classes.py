"""Arithmetic by class: what counts as a floating-point operation, and the sums of a node.

The contract's convention, *arithmetic issued, a multiply-accumulate = 2*:

==================================================  ======  ==========================
operation (floating point)                          FLOP    class in `flop_by_class`
==================================================  ======  ==========================
mma (count multiply-accumulates, sparse: executed)  2       tensor.<dtype>
add sub mul div mod min max neg abs                 1       fp16 bf16 fp32 fp64
fma                                                 2       fp16 bf16 fp32 fp64
exp, log, sqrt, rsqrt, sin, tanh, erf, sigmoid ...  1       sfu
floor ceil trunc round, cast                        0       -
compare select logic shift bitwise, shuffle, place  0       -
==================================================  ======  ==========================

Integer arithmetic on data counts as `int_ops` (add sub mul div mod fma neg abs min max shift
bitwise), index arithmetic nowhere.  A scalar float8 or smaller is computed as fp16.

What an operation costs a unit is another question than what it counts: see `instruction_costs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat

from tirlens_worker.facts import Arith

from ..dtypes import is_float, scalar_class, tensor_class
from ..gpu.compiler.instruction_costs import (
    Instructions,
    add_instructions,
    contract_multiply_adds,
    has_slow_path,
)

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


@dataclass(frozen=True)
class ArithTotals:
    """Operations of a node or a kernel: FLOP by class and instructions by unit and type.

    `instructions` is keyed by ``(unit, class)``, such as ``("fma", "fp32")``; tensor work is
    in `flop_by_class` alone.  `unknown` are the names of operations that nothing is known of.
    `branches`: some have a way apart for rare values.
    """

    flop_by_class: Mapping[str, int] = field(default_factory=dict[str, int])
    int_ops: int = 0
    instructions: Mapping[tuple[str, str], float] = field(
        default_factory=dict[tuple[str, str], float]
    )
    unknown: tuple[str, ...] = ()
    branches: bool = False

    @property
    def flop(self) -> int:
        """Floating-point operations of all classes."""
        return sum(self.flop_by_class.values())


def totals(
    counts: Iterable[tuple[Arith, int | None]],
    shares: Iterable[float] = repeat(1.0),
    fast_math: bool = False,
) -> ArithTotals:
    """Sum operations given with how often each is executed over the whole launch.

    `shares` tells of each which part of its executions are instructions, `fast_math` that the
    compiler may approximate those of single precision.
    A count that is not known is left out here; the caller makes the sum unknown.
    """
    flop_by_class: dict[str, int] = {}
    instructions: Instructions = {}
    unknown: list[str] = []
    int_ops, branches = 0, False
    # The shares may go on for ever.
    for (arith, total), share in zip(counts, shares):  # noqa: B905
        if total is None or arith.index:
            continue
        if arith.op == "mma":
            _add(flop_by_class, tensor_class(arith.dtype), 2 * total // arith.sparsity)
            continue
        if arith.op.startswith("unknown:"):
            unknown.append(arith.op[len("unknown:") :])
            continue
        floating = is_float(arith.dtype)
        if arith.op in FLOAT_OPS and floating:
            _add(flop_by_class, scalar_class(arith.dtype), total * (2 if arith.op == "fma" else 1))
        elif arith.op in INTEGER_OPS and not floating:
            int_ops += total
        elif arith.op not in FREE_OPS and floating:
            _add(flop_by_class, "sfu", total)
        branches = branches or has_slow_path(arith, fast_math)
        add_instructions(instructions, arith, total, share, fast_math)
    contract_multiply_adds(instructions)
    return ArithTotals(flop_by_class, int_ops, instructions, tuple(unknown), branches)


def _add(table: dict[str, int], key: str, value: int) -> None:
    if value:
        table[key] = table.get(key, 0) + value
