"""What is said of costs that nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import Arith, Caveat, Statement


@pytest.mark.parametrize(
    ("told", "added"),
    [
        ((), ["the cost of 'mystery' is not known; it is left out"]),
        ((Caveat("the cost of the function 'mystery' is not known"),), []),
        ((Caveat("this calls 'mystery', and its cost is not known"),), []),
        (
            (Caveat("the cost of the function 'mystery2' is not known"),),
            ["the cost of 'mystery' is not known; it is left out"],
        ),
    ],
)
def test_an_unknown_cost_is_told_once(told: tuple[Caveat, ...], added: list[str]) -> None:
    call = Statement("call", "mystery()", (Arith("unknown:mystery", "float32"),), sites=site(3))
    kernel = replace(launched((call,), ()), caveats=told)
    messages = [note.message for note in analyze(kernel, load("h100-sxm")).caveats]
    assert [text for text in messages if text.startswith("the cost of 'mystery'")] == added
