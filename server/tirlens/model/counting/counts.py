"""How often everything in a kernel happens: exact integers over the whole launch.

What is counted where:

* a statement that each thread executes counts once for each thread that gets there; one of a
  block (``per="block"``) once for each block in which any thread gets there, one of a warp or
  warpgroup as often as its threads divided by their number;
* a loop, branch or let counts as the statements in it do: by block if all of them are a block's;
* an access counts the elements of its box, of a clipped box only those inside the buffer; an index
  that differs between the threads of a block-wide statement is taken at the first thread.

A condition on data is taken to hold (of two sides the dearer one runs), an extent that depends on
data is replaced by an upper bound where one can be derived; both leave a caveat.  What remains
unknown is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirlens_worker.facts import KernelFacts

from .counts_data import (
    AccessCount,
    ArithCount,
    BufferCount,
    Counts,
    LaunchCount,
    NodeCount,
    statement_counts,
)
from .kernel_counter import KernelCounter

__all__ = [
    "AccessCount",
    "ArithCount",
    "BufferCount",
    "Counts",
    "LaunchCount",
    "NodeCount",
    "arith_totals",
    "count",
    "statement_counts",
]


def count(facts: KernelFacts, bindings: Mapping[str, int] | None = None) -> Counts:
    """Count everything in `facts` with its shape variables bound by `bindings`.

    A binding may also name a let, for its value, or a loop whose extent depends on data, for its
    trips.
    """
    return KernelCounter(facts, bindings or {}).counts()


def arith_totals(nodes: Iterable[NodeCount]) -> dict[tuple[str, str, str | None], int | None]:
    """Operations by ``(op, dtype, accumulator)``, index arithmetic left out."""
    totals: dict[tuple[str, str, str | None], int | None] = {}
    for leaf in statement_counts(nodes):
        for item in leaf.arith:
            if item.arith.index:
                continue
            key = (item.arith.op, item.arith.dtype, item.arith.accumulator)
            before = totals.get(key, 0)
            if before is None or item.total is None:
                totals[key] = None
            else:
                totals[key] = before + item.total
    return totals
