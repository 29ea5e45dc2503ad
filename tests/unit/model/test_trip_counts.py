"""The shares of a launch that reach the sides of a branch, by hand."""

from __future__ import annotations

import pytest

from support.kernels import launched, workload
from tirlens.model.tree.node import BranchCost, CostNode
from tirlens.model.tree.trip_counts import execution_shares
from tirlens_worker.facts import Access, Branch, Buffer, Expr, Statement, Store

BLOCKS, THREADS = 8, 128
FIRST_TWO: Expr = ("<", "bx", 2)


def of(executor: str) -> Statement:
    """A statement that a block executes together, or each of its threads."""
    box = (THREADS,) if executor == "block" else ()
    index: Expr = 0 if executor == "block" else "tx"
    return Store(executor, (), (Access("y", "write", (index,), box),), executor)


def shares(condition: Expr, then: tuple[str, ...], orelse: tuple[str, ...]) -> list[float]:
    branch = Branch(condition, tuple(map(of, then)), tuple(map(of, orelse)))
    facts = launched((branch,), (Buffer("y", "y", "float32", (1024,), "global"),), BLOCKS, THREADS)
    (node,) = (node for top in workload(facts).tree for node in walk(top))
    return [share for children, share in execution_shares(node) if children]


def walk(node: CostNode) -> list[CostNode]:
    found = [node] if isinstance(node, BranchCost) else []
    for child in getattr(node, "children", ()):
        found += walk(child)
    return found


@pytest.mark.parametrize(
    "then", [("block",), ("thread",), ("block", "thread"), ("thread", "thread")]
)
@pytest.mark.parametrize("orelse", [("block",), ("thread",), ("thread", "block")])
def test_sides_of_a_condition_on_blocks_have_their_share(
    then: tuple[str, ...], orelse: tuple[str, ...]
) -> None:
    """Whoever executes them: 2 of 8 blocks take one side, 6 the other."""
    assert shares(FIRST_TWO, then, orelse) == pytest.approx([2 / BLOCKS, 6 / BLOCKS])


@pytest.mark.parametrize("condition", [("<", "tx", 32), ("<", ("load", "y", 0), 1)])
def test_warps_wait_for_those_that_take_a_branch(condition: Expr) -> None:
    """A condition on threads has no share, and one on data holds in all blocks."""
    assert shares(condition, ("thread",), ()) == [1.0]
