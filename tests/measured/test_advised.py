"""Advice is true where its change was measured: it harms nothing and saves what it promises."""

from __future__ import annotations

from functools import cache
from statistics import geometric_mean

import pytest

from measured.advised import Pair, pairs

pytestmark = pytest.mark.slow

#: On how many pairs each rule speaks at least, and how far from the measured share of the time that
#: is left the promised one may be on the average.
BARS = {
    "bank-conflict": (3, 1.25),
    "loop-order": (85, 1.15),
    "not-parallel": (85, 1.15),
    "not-pipelined": (1, 1.15),
    "stages": (30, 1.1),
    "uncoalesced": (3, 1.4),
}


#: LLVM's code for the body of a parallel loop is other than for the loop alone: half as fast here.
DEPTHWISE = "depthwise float32 64 56 56"
HARMED = {f"{DEPTHWISE}, naive -> {DEPTHWISE}, parallel on intel-r-xeon-r-processor-2-50ghz"}


@cache
def measured() -> tuple[Pair, ...]:
    return tuple(pairs())


@pytest.mark.parametrize("rule", sorted({*BARS, "not-vectorized", "l2-reuse", "threads"}))
def test_no_advice_makes_a_measured_kernel_slower(rule: str) -> None:
    group = [pair for pair in measured() if pair.rule == rule]
    assert group
    assert {pair.name for pair in group if pair.harms} <= HARMED


@pytest.mark.parametrize("rule", sorted(BARS))
def test_what_is_promised_is_what_was_measured(rule: str) -> None:
    least, bar = BARS[rule]
    ratios = [
        pair.promised / pair.measured
        for pair in measured()
        if pair.rule == rule and pair.promised is not None
    ]
    assert len(ratios) >= least
    assert 1 / bar < geometric_mean(ratios) < bar


def test_followed_advice_is_not_given_again() -> None:
    """But for a reduction, of which another order of its loops is another half as good."""
    again = [pair for pair in measured() if pair.repeats and pair.rule != "loop-order"]
    assert again == []
