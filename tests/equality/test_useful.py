"""Useful operations of tile products against a sum over all elements of all blocks."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import pytest

from equality.compare import told_useful
from equality.process import TESTS, cases_of
from support.counts import count
from tirlens.hardware import DEFAULT_DEVICE, load
from tirlens.ide.hovers import kernel
from tirlens.model.analyze import analyze
from tirlens.model.counting.kernel_counts import statement_counts
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

CASES = (
    "tails",
    "whole",
    "transposed",
    "masked_first",
    "masked_later",
    "masked_behind",
    "whole_tiles",
)


def records() -> dict[str, dict[str, Any]]:
    return cases_of("tilelang-0.1.15", TESTS / "equality/useful_tilelang.py")


@cache
def facts() -> dict[str, KernelFacts]:
    return {name: from_json(KernelFacts, record["facts"]) for name, record in records().items()}


def products(name: str) -> list[tuple[int | None, int | None]]:
    """The useful and the masked multiply-accumulates of each tile product."""
    found = [item for leaf in statement_counts(count(facts()[name]).root) for item in leaf.arith]
    return [(item.useful, item.masked) for item in found if item.arith.op == "mma"]


@pytest.mark.parametrize(
    ("name", "m", "n", "k"),
    [("tails", 100, 70, 40), ("whole", 128, 64, 32), ("transposed", 65, 33, 17)],
)
def test_what_lies_inside_the_arrays(name: str, m: int, n: int, k: int) -> None:
    assert products(name) == [(m * n * k, 0)]
    report = analyze(facts()[name], load(DEFAULT_DEVICE))
    assert report.useful_flop == 2 * m * n * k
    assert report.masked_flop == 0
    assert ("| [useful](" in kernel(report)) == (name != "whole")


@pytest.mark.parametrize(
    ("name", "length", "dim"),
    [("masked_first", 150, 32), ("masked_later", 150, 32), ("whole_tiles", 128, 64)],
)
def test_what_a_causal_mask_keeps(name: str, length: int, dim: int) -> None:
    useful = masked = 0
    for block in range(-(-length // 64)):
        for step in range(-(-min((block + 1) * 64, length) // 32)):
            for i, j in product(range(64), range(32)):
                row, column = block * 64 + i, step * 32 + j
                if row < length and column < length:
                    useful += dim * (row >= column)
                    masked += dim * (row < column)
    assert products(name) == [(useful, masked)] * 2
    report = analyze(facts()[name], load(DEFAULT_DEVICE))
    assert report.flop is not None and report.useful_flop is not None
    tensor = sum(flop for key, flop in report.flop_by_class.items() if key.startswith("tensor"))
    assert report.useful_flop == 4 * useful + report.flop - tensor
    assert "masks" in kernel(report)


@pytest.mark.parametrize("name", CASES)
def test_what_is_followed_element_by_element(name: str) -> None:
    assert records()[name]["useful"]["counted"] == told_useful(facts()[name], {})


def test_a_tile_of_another_iteration_is_not_guessed() -> None:
    assert products("tile_of_before") == [(None, None)]
    report = analyze(facts()["tile_of_before"], load(DEFAULT_DEVICE))
    assert report.useful_flop is None
    assert "| [useful](" not in kernel(report)
