"""What is said of costs that nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import Arith, Call, Caveat


@pytest.mark.parametrize(
    ("told", "added"),
    [
        ((), ["the cost of 'mystery' is not known; it is left out"]),
        ((Caveat("the cost of the function 'mystery' is not known", function="mystery"),), []),
        ((Caveat("this calls it, and its cost is not known", function="mystery"),), []),
        (
            (Caveat("the cost of the function 'mystery' is not known", function="mystery2"),),
            ["the cost of 'mystery' is not known; it is left out"],
        ),
    ],
)
def test_an_unknown_cost_is_told_once(told: tuple[Caveat, ...], added: list[str]) -> None:
    call = Call("mystery()", (Arith("unknown:mystery", "float32"),), sites=site(3))
    kernel = replace(launched((call,), ()), caveats=told)
    messages = [note.message for note in analyze(kernel, load("h100-sxm")).caveats]
    assert [text for text in messages if text.startswith("the cost of 'mystery'")] == added
