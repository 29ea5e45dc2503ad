"""Executions of one kernel, summed from a stream."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.measured import groups as groups_module
from tirlens.measured.groups import Gaps, group_operations
from tirlens.measured.records import Operation, Position, Tensor

LAUNCH = Operation("main_kernel", Position("trace.csv", 2), grid=(8, 1, 1), block=(128, 1, 1))


def launches(*times_s: tuple[float | None, float | None]) -> list[Operation]:
    return [replace(LAUNCH, start_s=start_s, time_s=time_s) for start_s, time_s in times_s]


def test_executions_of_one_launch_are_one_group() -> None:
    (group,) = group_operations(launches((0, 1e-3), (2e-3, 3e-3), (None, None))).all()
    assert (group.rows, group.executions, group.time.count) == (3, 3, 2)
    assert group.time.mean == pytest.approx(2e-3)
    assert group.gap.total == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "other",
    [
        replace(LAUNCH, name="main_kernel_1"),
        replace(LAUNCH, device="1"),
        replace(LAUNCH, grid=(1, 8, 1)),
        replace(LAUNCH, grid=None),
        replace(LAUNCH, block=(256, 1, 1)),
        replace(LAUNCH, shared_bytes=0),
        replace(LAUNCH, inputs=(Tensor((8,)),)),
        replace(LAUNCH, outputs=(Tensor((8,)),)),
        replace(LAUNCH, kind="host"),
        replace(LAUNCH, attributes={"file": "a.py", "call": "f(2)"}),
        replace(LAUNCH, attributes={"bindings": "M=2"}),
    ],
)
def test_another_launch_is_another_group(other: Operation) -> None:
    assert len(group_operations([LAUNCH, other]).all()) == 2


def test_streams_and_counters_are_no_part_of_the_identity() -> None:
    rows = [replace(LAUNCH, stream=str(i), registers=i, counters={"c": i}) for i in range(4)]
    (group,) = group_operations(rows).all()
    assert group.counters == {"c": 1.5}


def test_a_sum_needs_every_row() -> None:
    counted = replace(LAUNCH, flop=7, dram_bytes=5)
    (group,) = group_operations([counted, counted]).all()
    assert (group.flop, group.dram_bytes) == (14, 10)
    (group,) = group_operations([counted, replace(LAUNCH, flop=1)]).all()
    assert (group.flop, group.dram_bytes) == (8, None)


def test_a_gap_is_that_of_the_device() -> None:
    gaps = Gaps()
    first = replace(LAUNCH, start_s=1.0, time_s=1.0)
    assert gaps.gap_before_s(first) is None
    assert gaps.gap_before_s(replace(first, device="other", start_s=9.0)) is None
    assert gaps.gap_before_s(replace(first, start_s=1.5, time_s=3.0)) == 0
    assert gaps.gap_before_s(replace(first, start_s=1.6, time_s=0.1)) == 0
    assert gaps.gap_before_s(replace(first, kind="host", start_s=1.7)) is None
    assert gaps.gap_before_s(replace(first, start_s=5.0)) == pytest.approx(0.5)
    assert gaps.gap_before_s(replace(first, start_s=2.0)) is None
    assert gaps.gap_before_s(replace(first, start_s=2.0, gap_s=0.25)) == 0.25


def test_groups_beyond_the_limit_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "MOST_GROUPS", 3)
    groups = group_operations(replace(LAUNCH, name=f"k{i % 5}", time_s=1.0) for i in range(10))
    assert [group.executions for group in groups.all()] == [2, 2, 2]
    assert groups.further is not None
    assert (groups.further.identity, groups.further.time.total) == (None, 4.0)
