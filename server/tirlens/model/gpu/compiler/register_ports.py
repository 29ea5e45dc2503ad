"""Whether instructions read registers faster than the ports of the register file bring them.

Each scheduler's registers lie in two banks of one port (Z. Jia et al., "Dissecting the NVIDIA Volta
GPU Architecture via Microbenchmarking"; R. Huerta et al., "Analyzing Modern NVIDIA GPU cores",
arXiv 2503.20481), so that an instruction of three operands needs both for longer than its slot.
Where neighbouring instructions have an operand in common, the compiler keeps it beside the unit
(``.reuse``): a loop of multiply-adds on an RTX A4000 goes from 55 to 95 % of the peak by that
(NVIDIA's developer forum, "How to understand register bank on RTX A4000").
"""

from __future__ import annotations

from collections.abc import Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access

from ...tree.node import CostNode


def is_register_tile_product(item: CostNode) -> bool:
    """Whether a leaf is a product of a register tile: multiply-adds whose neighbours share factors.

    Each element that an unrolled loop has of a row, or of a column, has a factor of all of it.
    """
    if item.context.unrolled_iterations == 1 or {unit for unit, _ in item.arith.instructions} != {
        "fma"
    }:
        return False
    unrolled = {loop.var for loop in item.context.loops if loop.kind == "unroll"}
    results = [entry for entry in item.source.accesses if entry.mode != "read"]
    targets = {entry.buffer for entry in results}
    varies = unrolled & _index_variables(item, results)
    return any(
        varies - _index_variables(item, [entry])
        for entry in item.source.accesses
        if entry.mode == "read" and entry.buffer not in targets
    )


def _index_variables(item: CostNode, accesses: Sequence[Access]) -> frozenset[str]:
    resolve = item.context.resolve
    return frozenset[str]().union(
        *(free_variables(resolve(index)) for access in accesses for index in access.indices)
    )
