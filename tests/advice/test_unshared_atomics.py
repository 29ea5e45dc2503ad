"""Atomic updates that no other thread makes; and those that other threads, or data, may make."""

from __future__ import annotations

import pytest

from advice.test_against_sources import kernels
from tirlens.advice import Question, advise
from tirlens.hardware import load
from tirlens.model import analyze

pytestmark = pytest.mark.slow

RULE = "unshared-atomics"


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ('update("own")', True),
        ('update("pairs")', False),
        ('update("maximum")', False),
        ('update("twice")', False),
        ('update("store")', False),
        ("split_product(1, 2048, 256, True)", True),
        ("split_product(2, 2048, 256, True)", False),
        ("split_product(1, 2048, 256)", False),
    ],
)
@pytest.mark.parametrize("device_id", ["h100-sxm", "mi300x"])
def test_updates_of_elements_that_nothing_else_updates(
    call: str, is_found: bool, device_id: str
) -> None:
    device, facts = load(device_id), kernels("tilelang_rewrites")[call]
    found = advise(Question(facts, device, report=analyze(facts, device)))
    assert (RULE in {one.rule for one in found}) == is_found
