"""The amount of work of a kernel with assumed arguments, which shows sizes that nobody uses."""

from __future__ import annotations

import re
from typing import Dict, Mapping, Optional, Tuple

from ..facts import (
    THREADS_TOGETHER,
    Branch,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    While,
)
from ..frameworks.symbolic.evaluation import evaluate

# Rates of a data-centre GPU of these years: operations of its tensor cores, other operations, and
# bytes that its L2 cache and DRAM move.
_MATRIX_FLOP_PER_S, _OTHER_FLOP_PER_S, _BYTES_PER_S = 5e14, 2e13, 6e12


def work_time_s(facts: KernelFacts, sizes: Mapping[str, int]) -> float:
    """The time for the work of a kernel within an order of magnitude.

    `sizes` are those of dynamic dimensions. A loop whose trip count depends on data counts once.
    Accesses of a function that a statement built and that has no grid do not count: a schedule is
    still to decide how often memory is read.
    """
    estimate = _Estimate(facts, sizes)
    estimate.add(facts.body, 1.0, 1.0)
    is_unscheduled = facts.built is not None and not _has_grid(facts.body)
    return estimate.compute_time_s if is_unscheduled else estimate.time_s


def accesses_arrays(facts: KernelFacts) -> bool:
    """Whether a kernel reads or writes an array, with the sizes that its call gives."""
    in_global = {buffer.id for buffer in facts.buffers if buffer.scope == "global"}

    def is_accessed(nodes: Tuple[Node, ...]) -> bool:
        for node in nodes:
            if isinstance(node, Loop):
                found = evaluate(node.extent, facts.sizes.get) != 0 and is_accessed(node.body)
            elif isinstance(node, Branch):
                found = is_accessed((*node.then, *node.orelse))
            elif isinstance(node, While):
                found = is_accessed(node.body)
            elif isinstance(node, Statement):
                found = any(access.buffer in in_global for access in node.accesses)
            else:
                found = False
            if found:
                return True
        return False

    return not in_global or is_accessed(facts.body)


def _has_grid(nodes: Tuple[Node, ...]) -> bool:
    return any(
        isinstance(node, Loop) and (node.kind == "block" or _has_grid(node.body)) for node in nodes
    )


class _Estimate:
    """The sum of the work of nodes; loop variables have the middle of their values."""

    def __init__(self, facts: KernelFacts, sizes: Mapping[str, int]) -> None:
        self._values: Dict[str, float] = {**facts.sizes, **sizes}
        self._element_bytes = {
            buffer.id: bits(buffer.dtype) / 8
            for buffer in facts.buffers
            if buffer.scope == "global"
        }
        self._matrix_flop = self._other_flop = self._bytes = 0.0

    @property
    def time_s(self) -> float:
        return max(self.compute_time_s, self._bytes / _BYTES_PER_S)

    @property
    def compute_time_s(self) -> float:
        return max(self._matrix_flop / _MATRIX_FLOP_PER_S, self._other_flop / _OTHER_FLOP_PER_S)

    def add(self, nodes: Tuple[Node, ...], executions: float, threads: float) -> None:
        """Add the work of `nodes`, executed so often by each of as many threads."""
        for node in nodes:
            if isinstance(node, Loop):
                trips = max(1.0, self._value(node.extent) or 1.0)
                start, step = self._value(node.start) or 0.0, self._value(node.step) or 1.0
                self._values[node.var] = start + step * (trips - 1) / 2
                if node.kind == "block":
                    self.add(node.body, executions, threads * trips)
                else:
                    self.add(node.body, executions * trips, threads)
            elif isinstance(node, Branch):
                self.add(node.then, executions, threads)
                self.add(node.orelse, executions, threads)
            elif isinstance(node, While):
                self.add(node.body, executions, threads)
            elif isinstance(node, Let):
                value = self._value(node.value)
                if value is not None:
                    self._values[node.var] = value
            else:
                together = THREADS_TOGETHER.get(node.per, threads)
                self._add_statement(node, executions * max(1.0, threads / together))

    def _add_statement(self, node: Statement, executions: float) -> None:
        for item in node.arith:
            count = (self._value(item.count) or 1.0) * executions
            if item.op == "mma":
                self._matrix_flop += 2 * count
            elif not item.index:
                self._other_flop += count
        for access in node.accesses:
            elements = float(access.lanes)
            for extent in access.extents:
                elements *= self._value(extent) or 1.0
            self._bytes += elements * executions * self._element_bytes.get(access.buffer, 0.0)

    def _value(self, expr: Expr) -> Optional[float]:
        """The value of an expression of sizes; None if it depends on data."""
        return evaluate(expr, self._values.get)


def bits(dtype: str) -> int:
    """The bits of an element; 8 where the name has no number."""
    digits = re.search(r"\d+", dtype)
    return int(digits.group()) if digits else 8
