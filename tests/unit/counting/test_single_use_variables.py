"""Variables of one condition alone: how many of their values satisfy it, for the others' values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tirlens_counting.elimination import Tables
from tirlens_counting.expressions import evaluate
from tirlens_counting.problem import make_problem
from tirlens_counting.single_use_variables import find_single_uses, tabulate_counts
from tirlens_worker.facts import Expr

# The conditions share x; a and b are in the first one alone.
BOX = {"x": (-40, 60), "a": (0, 3), "b": (-1, 4)}


@pytest.mark.parametrize("comparison", ["==", "<", "<=", ">", ">="])
@pytest.mark.parametrize("factors", [(1, 1), (1, 4), (3, -5), (-2, -6)])
def test_the_table_has_the_number_of_values(comparison: str, factors: tuple[int, int]) -> None:
    """Also where the rest is just below the least sum, and just above the greatest."""
    own: Expr = ("+", *(("*", name, factor) for name, factor in zip("ab", factors, strict=True)))
    condition: Expr = (comparison, own, "x")
    part = make_problem(BOX, [condition, (">", ("*", "x", "x"), 1)])
    (single,) = find_single_uses(part)
    assert set(single.variables) == {"a", "b"}
    # The problem has a shorter range of x, in which some value satisfies the condition.
    table = tabulate_counts(single, BOX, Tables())
    assert table is not None
    values = list(itertools.product(range(4), range(-1, 5)))
    low, high = BOX["x"]
    expected = [
        sum(bool(evaluate(condition, {"x": x, "a": a, "b": b})) for a, b in values)
        for x in range(low, high + 1)
    ]
    assert np.asarray(table.values).ravel().tolist() == expected
