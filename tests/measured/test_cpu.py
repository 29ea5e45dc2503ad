"""The accuracy of CPU kernels that the documentation states, on the committed measurements."""

from __future__ import annotations

import pytest

from measured.cpu import DEVICE, HELD_OUT, Row, Score, rows, workloads
from tirlens.hardware import load

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return rows(load(DEVICE))


def half(found: list[Row], held_out: bool) -> list[Row]:
    return [row for row in found if (row.family == HELD_OUT) == held_out]


def test_there_are_kernels_enough(found: list[Row]) -> None:
    assert len(found) >= 300
    assert len(half(found, True)) >= 60
    assert len([group for group in workloads(found) if len(group) > 2]) >= 50


@pytest.mark.parametrize(
    ("held_out", "median", "mean", "tau"), [(False, 0.17, 0.22, 0.84), (True, 0.15, 0.22, 0.9)]
)
def test_the_stated_accuracy(
    found: list[Row], held_out: bool, median: float, mean: float, tau: float
) -> None:
    score = Score.of(half(found, held_out))
    assert score.errors.median <= median and score.errors.mape <= mean
    assert score.tau is not None and score.tau >= tau
    # The schedule that the model calls the best is nearly that.
    assert score.best is not None and score.best >= 0.95
    assert 0.75 <= score.inside <= 0.9


@pytest.mark.parametrize(
    ("workload", "schedule", "bounds"),
    [
        ("matmul 500", "naive", {"latency"}),
        ("row sum 1024 1024", "naive", {"latency"}),
        ("add 16777216", "plain", {"dram"}),
        ("add 1048576", "plain", {"l3"}),
        ("exp 65536", "plain", {"sfu"}),
        ("polynomial 32", "plain", {"fp32"}),
        ("matmul 256", "order ikj", {"l1", "l2"}),
        ("transpose 128", "rows", {"l1", "l2"}),
    ],
)
def test_what_bounds_a_kernel(
    found: list[Row], workload: str, schedule: str, bounds: set[str]
) -> None:
    (row,) = [row for row in found if (row.workload, row.schedule) == (workload, schedule)]
    assert row.bound in bounds, row.reason
