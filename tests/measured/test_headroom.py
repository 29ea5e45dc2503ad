"""What is called reachable is what the fastest measured kernels of a job reach."""

from __future__ import annotations

from statistics import median

import pytest

from measured.headroom import Reach, reaches
from tirlens.headroom.job import Attention, Pass, Product

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> list[Reach]:
    return list(reaches(every=8))


def test_products(found: list[Reach]) -> None:
    ratios = [one.ratio for one in found if isinstance(one.job, Product)]
    assert len(ratios) >= 80
    assert 0.95 < median(ratios) < 1.05
    assert sum(ratio > 1.2 for ratio in ratios) <= 0.03 * len(ratios)


def test_attention(found: list[Reach]) -> None:
    ratios = [one.ratio for one in found if isinstance(one.job, Attention)]
    assert len(ratios) >= 20
    assert 0.9 < median(ratios) < 1.05
    assert sum(ratio > 1.1 for ratio in ratios) <= 0.05 * len(ratios)


def test_elementwise_operations(found: list[Reach]) -> None:
    ratios = [one.ratio for one in found if one.family.endswith("/elementwise")]
    assert len(ratios) >= 150
    assert 0.95 < median(ratios) < 1.05
    assert sum(0.9 < ratio < 1.1 for ratio in ratios) >= 0.9 * len(ratios)


def test_no_kernel_of_one_pass_is_faster_than_its_bytes(found: list[Reach]) -> None:
    ratios = [one.ratio for one in found if isinstance(one.job, Pass)]
    assert len(ratios) >= 200
    assert sum(ratio > 1.1 for ratio in ratios) <= 0.01 * len(ratios)
