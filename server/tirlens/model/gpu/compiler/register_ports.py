"""Register file bandwidth: whether the operand reuse cache covers the reads of a loop.

Each scheduler's registers are in two banks with one port each (Z. Jia et al., "Dissecting the
NVIDIA Volta GPU Architecture via Microbenchmarking"; R. Huerta et al., "Analyzing Modern NVIDIA GPU
cores", arXiv 2503.20481), so an instruction with three operands needs them for longer than its
issue slot.  Where consecutive instructions share an operand, the compiler caches it (``.reuse``):
this raises a loop of multiply-adds on an RTX A4000 from 55 to 95 % of the peak (NVIDIA's developer
forum, "How to understand register bank on RTX A4000").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access

from ...tree.node import Leaf


def is_register_tile_product(cost: Leaf, operations: Mapping[tuple[str, str], float]) -> bool:
    """Whether a statement is a product of a register tile, whose multiply-adds share factors.

    All elements that an unrolled loop computes of a row, or of a column, share one factor.

    Parameters
    ----------
    cost
        The statement.
    operations
        The instructions of its operations, by unit and class of type.
    """
    if cost.context.unrolled_iterations == 1 or {unit for unit, _ in operations} != {"fma"}:
        return False
    unrolled = {loop.var for loop in cost.context.loops if loop.kind == "unroll"}
    results = [entry for entry in cost.source.accesses if entry.mode != "read"]
    targets = {entry.buffer for entry in results}
    varies = unrolled & _index_variables(cost, results)
    return any(
        varies - _index_variables(cost, [entry])
        for entry in cost.source.accesses
        if entry.mode == "read" and entry.buffer not in targets
    )


def _index_variables(cost: Leaf, accesses: Sequence[Access]) -> frozenset[str]:
    resolve = cost.context.resolve
    return frozenset[str]().union(
        *(free_variables(resolve(index)) for access in accesses for index in access.indices)
    )
