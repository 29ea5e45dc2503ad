"""Unequal blocks: the time of the launch relative to equal ones."""

from __future__ import annotations

import numpy as np
import pytest

from support.kernels import launched, leaves
from tirlens.model.gpu.launch.imbalance import block_times_s, imbalance_factor
from tirlens.model.tree.timed_node import TimedNode
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Loop,
    Statement,
    Store,
)


def fragment(name: str, *shape: int) -> Buffer:
    return Buffer(name, name, "float32", shape, "local.fragment")


def step(reads: tuple[str, ...], writes: str) -> Statement:
    accesses = (
        *(Access(name, "read", (0,), (1024,)) for name in reads),
        Access(writes, "write", (0,), (1024,)),
    )
    return Store(writes, (), accesses, "block")


def test_unequal_blocks_start_in_launch_order() -> None:
    """Triangular work: block `bx` runs bx + 1 times."""
    loop = Loop("serial", "k", 0, ("+", "bx", 1), (step((), "a"),))
    facts = launched((loop,), (fragment("a", 1024),))
    (leaf,) = leaves(facts)
    costs = block_times_s(TimedNode(None, 0.0, (TimedNode(leaf, 4.5),)), (8,), None, "row")
    assert costs is not None and costs.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert imbalance_factor(costs, 8) == pytest.approx(8 / 4.5)
    # Two slots: 1 2 | 3 4 | 5 6 | 7 8, each block in the slot that is free first.
    assert imbalance_factor(costs, 2) == pytest.approx(20 / 18)
    even = Loop("serial", "k", 0, 5, (step((), "a"),))
    (leaf,) = leaves(launched((even,), (fragment("a", 1024),)))
    assert block_times_s(TimedNode(None, 0.0, (TimedNode(leaf, 4.5),)), (8,), None, "row") is None


def test_blocks_of_a_cluster_take_equally_long() -> None:
    """The first of two blocks issues the products of both."""
    issued = Branch(("==", ("%", "bx", 2), 0), (step((), "a"),))
    (leaf,) = leaves(launched((issued,), (fragment("a", 1024),)))
    timed = TimedNode(None, 0.0, (TimedNode(leaf, 1.0),))
    alone = block_times_s(timed, (8,), None, "row")
    assert alone is not None and alone.tolist() == [2, 0] * 4
    assert block_times_s(timed, (8,), None, "row", (2, 1, 1)) is None


def test_unequal_blocks_start_as_soon_as_a_slot_is_free() -> None:
    # A long block occupies its own slot only: the other slot takes the short ones.
    costs = np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert imbalance_factor(costs, 2) == pytest.approx(9 / (5 * costs.mean()))
    # Rows of a causal mask, 32 blocks each: only the last blocks are waited for.
    causal = np.tile(np.arange(1.0, 33.0), 256)
    equal = np.ceil(len(causal) / 132) * causal.mean()
    assert imbalance_factor(causal, 132) * equal < causal.sum() / 132 + causal.max()
