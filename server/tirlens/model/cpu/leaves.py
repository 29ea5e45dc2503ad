"""A statement with its addresses, as the compiler sees it inside its innermost loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from tirlens_counting.expressions import free_variables

from ..counting.kernel_counts import ArithCount
from ..dtypes import bits, is_float
from ..tree.context import EnclosingLoop
from ..tree.node import CostNode
from .address import Address

# tvm/runtime/device_api.h, kMaxStackAlloca.
STACK_BYTES = 1024
# Instructions of functions that TVM writes with others (src/target/intrin_rule.cc): 1 / sqrt(x),
# 1 / (1 + exp(-x)), and of both signs the stable form of tanh, of which one is chosen.
WRITTEN_OUT = {"rsqrt": 2, "sigmoid": 4, "tanh": 12, "exp10": 2, "tan": 3}


@dataclass(frozen=True)
class Leaf:
    """A statement with its addresses, and the loops inside its nest: unrolled or vectors."""

    item: CostNode
    reads: tuple[Address, ...]
    writes: tuple[Address, ...]
    inner: tuple[EnclosingLoop, ...]

    @property
    def executions(self) -> int:
        """How often the statement is executed over the whole launch."""
        return int(self.item.count.executions or 0)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where it reads, and then where it writes."""
        return self.reads + self.writes

    @cached_property
    def lanes(self) -> int:
        """Elements of one explicit vector, 1 without."""
        return math.prod(loop.extent or 1 for loop in self._lane_loops)

    @cached_property
    def lane_loop(self) -> str | None:
        """The variable of its innermost explicit vector; None without."""
        return self._lane_loops[-1].var if self._lane_loops else None

    @cached_property
    def _lane_loops(self) -> tuple[EnclosingLoop, ...]:
        """The explicit vectors; ``VectorizeLoop`` makes a loop of one that has a condition."""
        return tuple(
            loop for loop in self.inner if loop.kind == "vectorized" and not self.chosen(loop.var)
        )

    def chosen(self, var: str) -> bool:
        """Whether a condition around the statement holds for some values of a loop alone."""
        return chosen(self.item, var)

    def turns(self, loop: EnclosingLoop | None, vectorised: bool) -> int:
        """How often the statement runs, vectors of a loop also where a condition leaves it out."""
        if loop is None or not vectorised or not self.chosen(loop.var):
            return self.executions
        every = math.prod(around.extent or 1 for around in self.item.context.loops)
        return max(self.executions, every)

    @cached_property
    def bits(self) -> int:
        """The width of the widest element that the statement touches."""
        widths = [bits(entry.buffer.dtype) or 32 for entry in self.item.count.accesses]
        return max(widths, default=32)

    @cached_property
    def floating(self) -> bool:
        """Whether it computes with floating-point numbers."""
        return any(is_float(entry.arith.dtype) for entry in self.item.count.arith)

    def is_parameter(self, address: Address) -> bool:
        """Whether an address is of an array that is the kernel's parameter."""
        return any(
            entry.buffer.is_parameter
            for entry in self.item.count.accesses
            if entry.access.buffer == address.buffer
        )

    def on_stack(self, address: Address) -> bool:
        """Whether TVM puts an array on the stack, so that the compiler knows all that touches it.

        It does so with its own small arrays of scope ``global`` (``LowerTVMBuiltin``); those of
        other scopes come from a call, as far as the compiler knows from among the arguments.
        """
        return address.array_bytes < STACK_BYTES and any(
            entry.buffer.scope == "global" and not entry.buffer.is_parameter
            for entry in self.item.count.accesses
            if entry.access.buffer == address.buffer
        )

    def reads_back(self, write: Address) -> bool:
        """Whether the statement reads what it writes."""
        return any(read.buffer == write.buffer and read.terms == write.terms for read in self.reads)

    def accumulates(self, address: Address) -> bool:
        """Whether what is read there is what the statement's last execution wrote."""
        return any(
            other.buffer == address.buffer and other.terms == address.terms for other in self.writes
        )


def chosen(item: CostNode, var: str) -> bool:
    """Whether a condition around a statement holds for some values of a variable alone."""
    return any(var in free_variables(condition) for condition in item.context.conditions)


def operations(item: CostNode) -> float:
    """Arithmetic operations on data in one execution of a statement."""
    executions = max(item.count.executions or 1, 1)
    return sum(
        distinct(entry) / executions * WRITTEN_OUT.get(entry.arith.op.removeprefix("fast_"), 1)
        for entry in item.count.arith
        if not entry.arith.index
    )


def distinct(entry: ArithCount) -> float:
    """How many operations are left of some when the compiler computes each value once."""
    count = entry.arith.count
    total = float(entry.total or 0)
    return total * (1 - entry.arith.again / count) if isinstance(count, int) and count else total


def inner(leaf: Leaf) -> int:
    """Executions of a statement in one iteration of its nest's loop."""
    return math.prod(loop.extent or 1 for loop in leaf.inner)
