"""Trip counts of loops and execution shares of branches, on average over the launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Let

from .context import CONCURRENT_KINDS
from .node import BranchCost, CostNode, LoopCost


def mean_trip_count(node: CostNode) -> float:
    """The iterations of a block's loop each time that it is entered, on average.

    They are those of the longest of its threads, which the others wait for.
    """
    count = node.count
    if count.iterations is not None and count.executions:
        of_threads = max(count.iterations / count.executions, 0.0)
        is_sequential = isinstance(node, LoopCost) and node.source.kind not in CONCURRENT_KINDS
        if is_sequential and node.children:
            return of_threads * node.threads / node.children[0].threads
        return of_threads
    return float(count.trips or 1)


def branch_sides(branch: BranchCost) -> tuple[tuple[CostNode, ...], tuple[CostNode, ...]]:
    """The nodes of a branch's two sides: where its condition holds, and where it does not."""
    first = sum(not isinstance(child, Let) for child in branch.source.then)
    return branch.children[:first], branch.children[first:]


def execution_shares(node: CostNode) -> Iterator[tuple[Sequence[CostNode], float]]:
    """Groups of a node's children, each with the share of the node's executions that reach it.

    A branch has a group for each side, any other node has one group of share 1.  A condition on
    threads or on elements of a tile has share 1 too: the warps that do not take the branch wait for
    those that do.
    """
    context = node.context
    lanes = {loop.var for loop in context.loops if loop.kind in CONCURRENT_KINDS}
    if not isinstance(node, BranchCost) or lanes & free_variables(
        context.resolve(node.source.condition)
    ):
        yield node.children, 1.0
        return
    total = _block_executions(node)
    for side in branch_sides(node):
        executions = [_block_executions(child) for child in side]
        known = [number for number in executions if number is not None]
        is_partial = total and known and len(known) == len(executions)
        yield side, min(max(known) / total, 1.0) if total and is_partial else 1.0


def _block_executions(node: CostNode) -> float | None:
    """How often all blocks together reach a node; None where only some threads may do so.

    A node is counted once a block if all of its statements are, else once a thread.
    """
    leaves, executions = node.leaves(), node.count.executions
    if executions is None or not leaves:
        return None
    executors = {leaf.source.per for leaf in leaves}
    if executors == {"block"}:
        return float(executions)
    threads = {leaf.threads for leaf in leaves}
    is_uniform = executors <= {"block", "thread"} and len(threads) == 1
    return executions / threads.pop() if is_uniform else None
