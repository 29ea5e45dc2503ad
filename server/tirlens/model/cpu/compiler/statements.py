"""Statements of a loop nest and the addresses that they access, as sums of strides.

An address is ``offset + sum(stride * digit)`` in bytes.  A digit is a loop variable, or an
expression that a schedule makes of a fused one (``i // 64``, ``i % 64``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    linear,
    simplify,
)
from tirlens_counting.intervals import Interval
from tirlens_worker.facts import Access, AccessMode, Buffer, Expr

from ...constants import constant
from ...counting.kernel_counts import ArithCount
from ...dtypes import bits, is_float
from ...tree.context import EnclosingLoop, LoopContext
from ...tree.node import Leaf

STACK_ARRAY_BYTES = constant(
    "STACK_ARRAY_BYTES",
    1024,
    kind="compiler",
    unit="bytes",
    meaning="Size below which TVM allocates an array on the stack.",
    source="tvm/runtime/device_api.h, kMaxStackAlloca",
)
EXPANDED_INSTRUCTIONS: Mapping[str, int] = constant(
    "EXPANDED_INSTRUCTIONS",
    {
        "rsqrt": 2,
        "sigmoid": 4,
        "tanh": 12,
        "exp10": 2,
        "tan": 3,
    },
    kind="compiler",
    unit="instructions",
    meaning=(
        "Instructions of functions that TVM expands: 1 / sqrt(x), 1 / (1 + exp(-x)), and the "
        "stable form of tanh for both signs, one of which is selected."
    ),
    source="TVM, src/target/intrin_rule.cc",
)


@dataclass(frozen=True)
class Address:
    """The address of one access of a statement, as a sum of strides.

    Attributes
    ----------
    buffer
        The array.
    mode
        ``read``, ``write`` or ``atomic``.
    access_bytes
        Bytes of one access.
    array_bytes
        Bytes of the array.
    offset_bytes
        The constant part of the address.
    terms
        Digits, each with its stride in bytes.
    variables
        The variables of the digits.
    path
        The operations from the value that is read to the statement's result; None if unknown.
    """

    buffer: str
    mode: AccessMode
    access_bytes: int
    array_bytes: int
    offset_bytes: int
    terms: tuple[tuple[Expr, int], ...]
    variables: frozenset[str]
    path: tuple[str, ...] | None = field(default=None, compare=False)

    def stride_bytes(self, var: str, ranges: Mapping[str, Interval]) -> int | None:
        """Bytes from one value of a loop variable to the next; None if data-dependent."""
        if var not in self.variables:
            return 0
        total = 0
        for digit, factor in self.terms:
            if digit == var:
                total += factor
            elif var in free_variables(digit):
                step = _first_step(digit, var, tuple(sorted(ranges.items())))
                if step is None:
                    return None
                total += factor * step
        return total

    def has_same_strides(self, other: Address) -> bool:
        """Whether both addresses are in one array, a constant distance apart."""
        return self.buffer == other.buffer and self.terms == other.terms

    def is_same_element(self, other: Address) -> bool:
        """Whether both addresses are the same element in each iteration."""
        return self.has_same_strides(other) and self.offset_bytes == other.offset_bytes


@lru_cache(maxsize=4096)
def _first_step(digit: Expr, var: str, ranges: tuple[tuple[str, Interval], ...]) -> int | None:
    env = {name: int(reach[0]) if math.isfinite(reach[0]) else 0 for name, reach in ranges}
    try:
        first = evaluate(digit, env)
        return int(evaluate(digit, {**env, var: env.get(var, 0) + 1}) - first)
    except (UnknownValueError, TypeError, KeyError):
        return None


def address_of(
    access: Access, buffer: Buffer, shape: Sequence[int], context: LoopContext
) -> Address:
    """The address of an access to a compact or strided array of known shape in elements."""
    width = bits(buffer.dtype) or 32
    strides: list[Expr] = list(buffer.strides)
    if len(strides) != len(access.indices):
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(access.indices))]
    flat: Expr = 0
    for index, step in zip(access.indices, strides, strict=True):
        flat = ("+", flat, ("*", context.resolve(index), step))
    terms, constant = linear(simplify(_join_digits(*linear(simplify(flat)))))
    scaled = tuple((digit, factor * width // 8) for digit, factor in terms.items())
    names = frozenset[str]().union(*(free_variables(digit) for digit in terms))
    return Address(
        buffer=access.buffer,
        mode=access.mode,
        access_bytes=max(width * max(access.lanes, 1) // 8, 1),
        array_bytes=max(math.prod(shape) * width // 8, 1),
        offset_bytes=constant * width // 8,
        terms=scaled,
        variables=names,
        path=access.path,
    )


def _join_digits(terms: Mapping[Expr, int], constant: int) -> Expr:
    """A sum in which the quotient and remainder of a value by one number are the value again."""
    out: Expr = constant
    left = dict(terms)
    for digit, factor in terms.items():
        if not (isinstance(digit, tuple) and digit[0] == "//" and type(digit[2]) is int):
            continue
        rest: Expr = ("%", digit[1], digit[2])
        if left.get(rest, 0) * digit[2] == factor:
            out = ("+", out, ("*", digit[1], left.pop(rest)))
            del left[digit]
    for digit, factor in left.items():
        out = ("+", out, ("*", digit, factor))
    return out


@dataclass(frozen=True)
class NestStatement:
    """A statement of a loop nest, as the compiler sees it in the innermost loop.

    Attributes
    ----------
    node
        The statement in the kernel's tree.
    reads, writes
        The addresses that it reads and writes.
    inner_loops
        The loops between the nest's loop and the statement, which are unrolled or vectors.
    """

    node: Leaf
    reads: tuple[Address, ...]
    writes: tuple[Address, ...]
    inner_loops: tuple[EnclosingLoop, ...]

    @property
    def executions(self) -> int:
        """Executions of the statement over the whole launch."""
        return int(self.node.count.executions or 0)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses that are read, and then those that are written."""
        return self.reads + self.writes

    @cached_property
    def lanes(self) -> int:
        """Elements of the explicit vector; 1 without one."""
        return math.prod(loop.trip_count for loop in self.vector_loops)

    @cached_property
    def lane_variable(self) -> str | None:
        """The variable of the innermost explicit vector; None without one."""
        return self.vector_loops[-1].var if self.vector_loops else None

    @cached_property
    def vector_loops(self) -> tuple[EnclosingLoop, ...]:
        """The explicit vectors; ``VectorizeLoop`` makes a loop of one that has a condition."""
        return tuple(
            loop
            for loop in self.inner_loops
            if loop.kind == "vectorized" and not self.is_predicated_by(loop.var)
        )

    def stride_bytes(self, address: Address, var: str) -> int | None:
        """Bytes from one value of a loop variable to the next; None if data-dependent."""
        return address.stride_bytes(var, self.node.context.ranges)

    def is_predicated_by(self, var: str) -> bool:
        """Whether a condition around the statement depends on a loop variable."""
        return is_predicated_by(self.node, var)

    def issued_executions(self, loop: EnclosingLoop | None, is_vectorized: bool) -> int:
        """Executions in a loop; a vectorized loop also issues those that a condition masks."""
        if loop is None or not is_vectorized or not self.is_predicated_by(loop.var):
            return self.executions
        every = math.prod(outer.trip_count for outer in self.node.context.loops)
        return max(self.executions, every)

    @property
    def executions_per_iteration(self) -> int:
        """Executions of the statement in one iteration of its nest's loop."""
        return math.prod(loop.trip_count for loop in self.inner_loops)

    @cached_property
    def element_bits(self) -> int:
        """The width of the widest element that the statement accesses."""
        widths = [bits(entry.buffer.dtype) or 32 for entry in self.node.count.accesses]
        return max(widths, default=32)

    @cached_property
    def is_floating_point(self) -> bool:
        """Whether the statement computes with floating-point numbers."""
        return any(is_float(entry.arith.dtype) for entry in self.node.count.arith)

    def is_parameter(self, address: Address) -> bool:
        """Whether an address is in an array that is a parameter of the kernel."""
        return any(
            entry.buffer.is_parameter
            for entry in self.node.count.accesses
            if entry.access.buffer == address.buffer
        )

    def is_on_stack(self, address: Address) -> bool:
        """Whether TVM allocates an array on the stack, where the compiler knows all accesses.

        TVM does so with small arrays of scope ``global`` that are no parameters
        (``LowerTVMBuiltin``).  Arrays of other scopes are results of a call, which may overlap with
        the parameters for all that the compiler knows.
        """
        return address.array_bytes < STACK_ARRAY_BYTES and any(
            entry.buffer.scope == "global" and not entry.buffer.is_parameter
            for entry in self.node.count.accesses
            if entry.access.buffer == address.buffer
        )

    def reads_back(self, write: Address) -> bool:
        """Whether the statement reads the elements that it writes."""
        return any(read.has_same_strides(write) for read in self.reads)

    def accumulates(self, address: Address) -> bool:
        """Whether the statement writes the elements at an address that it reads."""
        return any(write.has_same_strides(address) for write in self.writes)


def is_predicated_by(node: Leaf, var: str) -> bool:
    """Whether a condition around a statement depends on a variable."""
    return any(var in free_variables(condition) for condition in node.context.conditions)


def operations_per_execution(node: Leaf) -> float:
    """Arithmetic operations on data in one execution of a statement."""
    executions = max(node.count.executions or 1, 1)
    return sum(
        distinct_operations(entry)
        / executions
        * EXPANDED_INSTRUCTIONS.get(entry.arith.op.removeprefix("fast_"), 1)
        for entry in node.count.arith
        if not entry.arith.index
    )


def distinct_operations(entry: ArithCount) -> float:
    """Operations that remain of `entry` after common subexpression elimination."""
    count = entry.arith.count
    total = float(entry.total or 0)
    return total * (1 - entry.arith.again / count) if isinstance(count, int) and count else total
