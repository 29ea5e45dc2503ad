"""A statement with its addresses, as the compiler sees it inside its innermost loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    linear,
    simplify,
)
from tirlens_counting.intervals import Interval, bounds
from tirlens_worker.facts import Access, Buffer, Expr

from ...counting.kernel_counts import ArithCount
from ...dtypes import bits, is_float
from ...tree.context import EnclosingLoop, LoopContext
from ...tree.node import CostNode

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


# Of x86-64, and of Arm as Linux mostly runs there.
LINE_BYTES = 64
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Address:
    """One access as strides in bytes; `size` bytes at a time, in an array of `array_bytes`.

    `path` are the operations from what is read there to the statement's result.
    """

    buffer: str
    mode: str
    size: int
    array_bytes: int
    constant: int
    terms: tuple[tuple[Expr, int], ...]
    variables: frozenset[str]
    path: tuple[str, ...] | None = field(default=None, compare=False)

    def stride(self, var: str, ranges: Mapping[str, Interval]) -> int | None:
        """Bytes from one value of a loop variable to the next; None if that depends on data."""
        if var not in self.variables:
            return 0
        total = 0
        for atom, factor in self.terms:
            if atom == var:
                total += factor
            elif var in free_variables(atom):
                step = _step(atom, var, tuple(sorted(ranges.items())))
                if step is None:
                    return None
                total += factor * step
        return total


@lru_cache(maxsize=4096)
def _step(atom: Expr, var: str, ranges: tuple[tuple[str, Interval], ...]) -> int | None:
    env = {name: int(reach[0]) if math.isfinite(reach[0]) else 0 for name, reach in ranges}
    try:
        first = evaluate(atom, env)
        return int(evaluate(atom, {**env, var: env.get(var, 0) + 1}) - first)
    except (UnknownValueError, TypeError, KeyError):
        return None


def address_of(access: Access, buffer: Buffer, shape: Sequence[int], place: LoopContext) -> Address:
    """The address of an access in a compact or strided array whose shape is known."""
    width = bits(buffer.dtype) or 32
    strides: list[Expr] = list(buffer.strides)
    if len(strides) != len(access.indices):
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(access.indices))]
    flat: Expr = 0
    for index, step in zip(access.indices, strides, strict=True):
        flat = ("+", flat, ("*", place.resolve(index), step))
    terms, constant = linear(simplify(_rejoined(*linear(simplify(flat)))))
    scaled = tuple((atom, factor * width // 8) for atom, factor in terms.items())
    names = frozenset[str]().union(*(free_variables(atom) for atom in terms))
    return Address(
        buffer=access.buffer,
        mode=access.mode,
        size=max(width * max(access.lanes, 1) // 8, 1),
        array_bytes=max(math.prod(shape) * width // 8, 1),
        constant=constant * width // 8,
        terms=scaled,
        variables=names,
        path=access.path,
    )


def _rejoined(terms: Mapping[Expr, int], constant: int) -> Expr:
    """A sum in which a value's quotient and remainder by one number are the value again."""
    out: Expr = constant
    left = dict(terms)
    for atom, factor in terms.items():
        if not (isinstance(atom, tuple) and atom[0] == "//" and type(atom[2]) is int):
            continue
        rest: Expr = ("%", atom[1], atom[2])
        if left.get(rest, 0) * atom[2] == factor:
            out = ("+", out, ("*", atom[1], left.pop(rest)))
            del left[atom]
    for atom, factor in left.items():
        out = ("+", out, ("*", atom, factor))
    return out


@dataclass(frozen=True)
class Pattern:
    """`run` bytes in a row, at every combination of the `copies`: (stride in bytes, how many).

    Its lines are of `line` bytes: those of a cache, or the pages of a TLB.
    """

    run: int
    copies: tuple[tuple[int, int], ...]
    line: int = LINE_BYTES

    @property
    def lines(self) -> float:
        """How many lines the pattern touches."""
        return max(self.run / self.line, 1.0) * math.prod(count for _, count in self.copies)

    def sets_used(self, sets: int, period: int) -> float:
        """Cache sets that the pattern falls into, where addresses a `period` apart share one."""
        used = max(self.run / self.line, 1.0)
        for stride, count in self.copies:
            used *= min(count, period // math.gcd(stride, period))
        spread = sets * self.line / period
        return min(used, period / self.line) * spread

    def covers(self, offset: int) -> bool:
        """Whether an access shifted by `offset` bytes touches much the same bytes."""
        for stride, count in sorted(self.copies, reverse=True):
            steps = round(offset / stride)
            if abs(steps) < count:
                offset -= steps * stride
        return abs(offset) < max(self.run, self.line)


def pattern(digits: Sequence[tuple[int, int]], size: int, line: int = LINE_BYTES) -> Pattern:
    """The bytes of digits given as (stride in bytes, number of values)."""
    run = size
    copies: list[tuple[int, int]] = []
    for stride, count in sorted((abs(stride), count) for stride, count in digits):
        if count <= 1 or not stride:
            continue
        if not copies and stride < run + line:
            run += stride * (count - 1)
        elif copies and stride == copies[-1][0]:
            copies[-1] = (stride, copies[-1][1] + count - 1)
        else:
            copies.append((stride, count))
    return Pattern(run, tuple(copies), line)


def digit_values(
    atom: Expr, free: frozenset[str], place: LoopContext, extents: Mapping[str, int]
) -> int:
    """How many values a digit has while the loops over `free` run."""
    if isinstance(atom, str):
        return extents.get(atom, 1) if atom in free else 1
    names = free_variables(atom) & free
    if not names:
        return 1
    most = math.prod(extents.get(name, 1) for name in names)
    if is_data_dependent(atom):
        return most
    pinned = {
        name: reach if name in free else (reach[0], reach[0])
        for name, reach in place.ranges.items()
    }
    low, high = bounds(atom, pinned)
    return min(most, int(high - low) + 1) if math.isfinite(high - low) else most
