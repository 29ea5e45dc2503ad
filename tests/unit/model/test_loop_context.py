"""The variable of a loop in its body: its values, or the iteration that gives them."""

from __future__ import annotations

import pytest

from tirlens.model.tree.context import kernel_context
from tirlens_worker.facts import Expr, Loop


@pytest.mark.parametrize(
    ("start", "step", "value", "reach"),
    [
        (0, 1, "k", (0, 9)),
        (5, 1, "k", (5, 14)),
        # From a thread's index on, or by steps, it is computed from the iteration.
        ("t", 1, ("+", "t", "k"), (0, 9)),
        ("t", 32, ("+", "t", ("*", 32, "k")), (0, 9)),
        (5, 4, ("+", 5, ("*", 4, "k")), (0, 9)),
        # Where data say where it starts, the iterations of blocks are not told apart.
        (("load", "offsets", "t"), 1, "k", None),
    ],
)
def test_variable_of_a_loop(
    start: Expr, step: Expr, value: Expr, reach: tuple[int, int] | None
) -> None:
    around = kernel_context({}).in_loop(Loop("block", "t", 0, 64, (), tag="threadIdx.x"))
    inside = around.in_loop(Loop("serial", "k", start, 10, (), step))
    assert inside.resolve("k") == value
    if reach is not None:
        assert inside.ranges["k"] == reach
    assert inside.extents["k"] == 10
