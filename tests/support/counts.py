"""Short forms of the counting stage for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirlens.model.counting import count_kernel
from tirlens.model.counting.kernel_counts import Counts, Footprint, NodeCount, statement_counts
from tirlens_worker.facts import KernelFacts


def count(facts: KernelFacts, bindings: Mapping[str, int] | None = None) -> Counts:
    """The counts of every node of a kernel."""
    return count_kernel(facts, bindings or {}).counts


def compulsory_bytes(facts: KernelFacts, bindings: Mapping[str, int]) -> Footprint | None:
    """The distinct bytes of global memory that a kernel accesses."""
    return count_kernel(facts, bindings).footprint


def arith_totals(nodes: Iterable[NodeCount]) -> dict[tuple[str, str, str | None], int | None]:
    """Operations by ``(op, dtype, accumulator)`` without index arithmetic."""
    totals: dict[tuple[str, str, str | None], int | None] = {}
    for leaf in statement_counts(nodes):
        for item in leaf.arith:
            if item.arith.index:
                continue
            key = (item.arith.op, item.arith.dtype, item.arith.accumulator)
            before = totals.get(key, 0)
            known = before is not None and item.total is not None
            totals[key] = (before or 0) + (item.total or 0) if known else None
    return totals
