"""What is started ahead of its use: loads of pipelines, copies that nobody waits for at once."""

from __future__ import annotations

from collections.abc import Sequence

from tirlens_worker.facts import Copy, Load, Statement, Store

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.node import CostNode


def is_load(item: CostNode) -> bool:
    """Whether a leaf only moves global data into shared memory, so that it can run ahead.

    A tile loop that copies element by element does, inside a pipelined loop.  One that chooses
    between the element and a zero does not: tilelang makes plain loads and stores of it, in one
    buffer (``IsPureCopyStmt`` in ``src/transform/pipeline_planning.cc``).
    """
    if not isinstance(item.source, Statement) or not item.read_bytes:
        return False
    if isinstance(item.source, (Copy, Load)):
        return True
    return copies_elements(item) and any(loop.kind == "pipelined" for loop in item.context.loops)


def copies_elements(item: CostNode) -> bool:
    """Whether a statement of a tile loop stores an element of a global array in shared memory."""
    node = item.source
    if not isinstance(node, Store) or node.per != "block" or node.arith or item.shared_bytes <= 0:
        return False
    return not any(access.guard is not None for access in node.accesses if access.mode == "read")


def started_ahead(leaves: Sequence[CostNode]) -> float:
    """The share of all traffic to L2 that is started ahead of its use, and makes nobody wait.

    That is what pipelined loops load, and what TMA and cp.async bring.
    """
    moved = sum(leaf.traffic.l2_bytes for leaf in leaves)
    ahead = sum(
        leaf.traffic.l2_read_bytes
        for leaf in leaves
        if leaf.traffic.l2_read_bytes and is_load(leaf) and _is_ahead(leaf)
    )
    return ahead / moved if moved else 0.0


def moved_at_once(leaves: Sequence[CostNode]) -> float:
    """The share of all traffic to L2 that a block starts in one go, not turn by turn of a loop."""
    amounts = [leaf.traffic.l2_bytes for leaf in leaves]
    moved = sum(amounts)
    once = sum(
        amount / leaf.context.sequential_iterations
        for leaf, amount in zip(leaves, amounts, strict=True)
        if amount
    )
    return once / moved if moved else 0.0


def _is_ahead(leaf: CostNode) -> bool:
    if any(loop.kind == "pipelined" and loop.stages > 1 for loop in leaf.context.loops):
        return True
    # One that is started outside of any loop has nothing of its block to run beside.
    turns = any(loop.kind not in GRID_KINDS | CONCURRENT_KINDS for loop in leaf.context.loops)
    return turns and any(entry.access.route in ("tma", "async") for entry in leaf.count.accesses)
