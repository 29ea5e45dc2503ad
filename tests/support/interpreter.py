"""Runs a `KernelFacts` tree element by element and counts what happens: the oracle of the model.

Every loop iteration of every thread of every block is executed, so it is for small shapes only; it
shares no code with `tirlens.model` and knows no shortcut.  Data is not simulated: where an
expression needs the value of an array or of anything else that is not known before the run,
`unknown` is taken for it, and without one `DataDependentError` is raised.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    While,
)

Path = tuple[int, ...]
Environment = dict[str, Any]


class DataDependentError(Exception):
    """A value is needed that the facts do not tell."""


@dataclass
class Tally:
    """What one launch did.

    A path is the indices of a node and its ancestors in their bodies; in a branch those of
    `orelse` follow those of `then`.  `executions` counts per statement (a block-wide statement
    once per block, a warp-wide one once per warp), `reached` how often any node was come to, by
    thread, and `iterations` the rounds of a loop.  `bits` are issued, by buffer id and mode, and
    `touched` are the distinct elements by buffer id, `read` and `written` those of each mode.
    """

    executions: Counter[Path] = field(default_factory=Counter)
    reached: Counter[Path] = field(default_factory=Counter)
    iterations: Counter[Path] = field(default_factory=Counter)
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_statement: dict[Path, Counter[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    bits: Counter[tuple[str, str]] = field(default_factory=Counter)
    bits_by_statement: dict[Path, Counter[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    touched: dict[str, set[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(set))
    read: dict[str, set[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(set))
    written: dict[str, set[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(set))

    def bytes(self, facts: KernelFacts, mode: str, scope: str = "global") -> Fraction:
        """Issued bytes of one mode over all buffers of a scope."""
        wanted = {buffer.id for buffer in facts.buffers if buffer.scope == scope}
        return sum(
            (
                Fraction(count, 8)
                for (buffer, kind), count in self.bits.items()
                if buffer in wanted and kind == mode
            ),
            Fraction(0),
        )

    def touched_bytes(self, facts: KernelFacts, scope: str = "global") -> Fraction:
        """Bytes of the distinct elements touched over all buffers of a scope."""
        return sum(
            (
                Fraction(len(self.touched[buffer.id]) * bits(buffer.dtype), 8)
                for buffer in facts.buffers
                if buffer.scope == scope
            ),
            Fraction(0),
        )


def run(facts: KernelFacts, bindings: Mapping[str, int], unknown: Any = None) -> Tally:
    """Executes the kernel for the shapes in `bindings`.

    Raises:
        DataDependentError: something is not known before the run and `unknown` is None.
        KeyError: a variable has no value.
    """
    return _Run(facts, dict(bindings), unknown).run()


def bits(dtype: str) -> int:
    """The bits of one element: ``float16`` 16, ``int4`` 4, ``float32x4`` 128, ``bool`` 8."""
    if dtype == "bool":
        return 8
    if dtype == "handle":
        return 64
    found = re.match(r"[a-z]+(\d+)(?:_\w+?)?(?:x(\d+))?$", dtype)
    if found is None:
        raise ValueError(f"no element type: {dtype}")
    return int(found.group(1)) * int(found.group(2) or 1)


def evaluate(expr: Expr, env: Mapping[str, Any], unknown: Any = None) -> Any:
    """The value of an expression, with the meaning that `tirlens_worker.facts` gives it."""
    if isinstance(expr, str):
        return env[expr]
    if not isinstance(expr, tuple):
        return expr
    operator, *operands = expr
    if operator in ("load", "opaque"):
        if unknown is None:
            raise DataDependentError(repr(expr))
        return unknown
    if operator == "cast":
        return _cast(operands[0], evaluate(operands[1], env, unknown))
    if operator == "select":
        chosen = operands[1] if evaluate(operands[0], env, unknown) else operands[2]
        return evaluate(chosen, env, unknown)
    if operator == "and":
        return all(evaluate(operand, env, unknown) for operand in operands)
    if operator == "or":
        return any(evaluate(operand, env, unknown) for operand in operands)
    values = [evaluate(operand, env, unknown) for operand in operands]
    return _OPERATORS[operator](*values)


def _truncdiv(left: int, right: int) -> int:
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


_OPERATORS: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b=None: -a if b is None else a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "truncdiv": _truncdiv,
    "truncmod": lambda a, b: a - b * _truncdiv(a, b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "not": lambda a: not a,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "~": lambda a: ~a,
}


def _cast(dtype: str, value: Any) -> Any:
    if dtype == "bool":
        return bool(value)
    if dtype.startswith(("int", "uint")):
        return math.trunc(value)
    return float(value)


_TOGETHER = {"thread": 1, "warp": 32, "warpgroup": 128}


class _Run:
    def __init__(self, facts: KernelFacts, bindings: Environment, unknown: Any) -> None:
        self.facts = facts
        self.bindings = bindings
        self.unknown = unknown
        self.buffers = {buffer.id: buffer for buffer in facts.buffers}
        self.tally = Tally()
        # What a block has done already: a statement once for the values of all loops but threads.
        self.done: set[tuple[Path, tuple[Any, ...]]] = set()

    def run(self) -> Tally:
        self.body(self.facts.body, (), 0, dict(self.bindings), ())
        for counter in (self.tally.executions, self.tally.operations, self.tally.bits):
            _settle(counter)
        for group in (self.tally.by_statement, self.tally.bits_by_statement):
            for counter in group.values():
                _settle(counter)
        return self.tally

    def body(
        self, nodes: tuple[Node, ...], path: Path, first: int, env: Environment, key: Any
    ) -> None:
        env = dict(env)
        for position, node in enumerate(nodes, first):
            self.node(node, (*path, position), env, key)

    def node(self, node: Node, path: Path, env: Environment, key: Any) -> None:
        self.tally.reached[path] += 1
        if isinstance(node, Statement):
            self.statement(node, path, env, key)
        elif isinstance(node, Let):
            env[node.var] = self.value_or_data(node.value, env)
        elif isinstance(node, Loop):
            self.loop(node, path, env, key)
        elif isinstance(node, Branch):
            if self.value(node.condition, env):
                self.body(node.then, path, 0, env, key)
            else:
                self.body(node.orelse, path, len(node.then), env, key)
        else:
            assert isinstance(node, While)
            raise DataDependentError(f"while {node.condition!r}")

    def loop(self, loop: Loop, path: Path, env: Environment, key: Any) -> None:
        start, extent, step = (
            self.value(item, env) for item in (loop.start, loop.extent, loop.step)
        )
        for value in range(start, start + extent * step, step):
            self.tally.iterations[path] += 1
            # A thread is no part of what distinguishes the work of its block.
            inner = key if loop.kind == "block" else (*key, value)
            self.body(loop.body, path, 0, {**env, loop.var: value}, inner)

    def statement(self, statement: Statement, path: Path, env: Environment, key: Any) -> None:
        if statement.per == "block":
            if (path, key) in self.done:
                return
            self.done.add((path, key))
        share = Fraction(1, _TOGETHER.get(statement.per, 1))
        self.tally.executions[path] += share  # type: ignore[assignment]
        for item in statement.arith:
            if item.guard is None or self.value(item.guard, env):
                count = self.value(item.count, env) * share
                self.tally.operations[item.op, item.dtype] += count
                self.tally.by_statement[path][item.op, item.dtype] += count
        for item in statement.accesses:
            if item.guard is None or self.value(item.guard, env):
                self.access(item, path, env, share)

    def access(self, access: Access, path: Path, env: Environment, share: Fraction) -> None:
        buffer = self.buffers[access.buffer]
        corner = [self.value_or_data(index, env) for index in access.indices]
        extents = [self.value(extent, env) for extent in access.extents] or [1] * len(corner)
        if access.lanes > 1:
            extents[-1] *= access.lanes
        if any(index is _DATA for index in corner):
            count = math.prod(extents)
        else:
            box = self.box(access, buffer, corner, extents, env)
            elements = set(itertools.product(*box))
            self.tally.touched[buffer.id] |= elements
            if access.mode != "write":
                self.tally.read[buffer.id] |= elements
            if access.mode != "read":
                self.tally.written[buffer.id] |= elements
            count = math.prod(len(side) for side in box)
        size = count * bits(buffer.dtype) * share
        self.tally.bits[buffer.id, access.mode] += size  # type: ignore[assignment]
        self.tally.bits_by_statement[path][buffer.id, access.mode] += size  # type: ignore

    def box(
        self,
        access: Access,
        buffer: Buffer,
        corner: list[int],
        extents: list[int],
        env: Environment,
    ) -> list[range]:
        sides = [range(low, low + size) for low, size in zip(corner, extents, strict=True)]
        if not access.clipped:
            return sides
        shape = [self.value(extent, env) for extent in buffer.shape]
        return [
            range(max(side.start, 0), max(min(side.stop, size), max(side.start, 0)))
            for side, size in zip(sides, shape, strict=True)
        ]

    def value(self, expr: Expr, env: Environment) -> Any:
        found = evaluate(expr, env, self.unknown)
        if found is _DATA:
            raise DataDependentError(repr(expr))
        return found

    def value_or_data(self, expr: Expr, env: Environment) -> Any:
        """The value, or a mark where it is data: the address of a gather, a let of a load."""
        try:
            return self.value(expr, env)
        except (DataDependentError, TypeError):
            return _DATA


_DATA = object()


def _settle(counter: Counter[Any]) -> None:
    """Whole numbers as ints, for the shares of warps add up to them."""
    for name, count in counter.items():
        if isinstance(count, Fraction) and count.denominator == 1:
            counter[name] = count.numerator
