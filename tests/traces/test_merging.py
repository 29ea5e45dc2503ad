"""Operations of several devices as one."""

from __future__ import annotations

import pytest

from tirlens.measured.performance.merging import execute_the_same, merge
from tirlens.measured.records import Operation, OperationKind, Position


def operation(
    device: str | None,
    name: str,
    time_s: float | None,
    row: int,
    kind: OperationKind = "kernel",
    path: str = "t",
) -> Operation:
    return Operation(name, Position(path, row), kind, device, time_s=time_s)


TWO_DEVICES = [
    operation("1", "a", 1.0, 2),
    operation("0", "a", 3.0, 3),
    operation("1", "sum", 5.0, 4, "collective"),
    operation(None, "cpu", None, 5, "host"),
    operation("0", "sum", 1.0, 6, "collective"),
    operation("0", "a", 2.0, 7),
    operation("1", "a", 4.0, 8),
]


def test_the_longest_of_operations_and_the_mean_of_collectives() -> None:
    merged = merge(TWO_DEVICES)
    assert [(each.name, each.time_s) for each in merged.operations] == [
        ("a", 3.0), ("sum", 3.0), ("cpu", None), ("a", 4.0),
    ]  # fmt: skip
    assert merged.devices == 2
    assert merged.begins == (0, 2, 3, 5)
    assert merged.incomplete == 0
    # The first device speaks for a collective.
    assert merged.operations[1].position.row == 6


def test_an_operation_that_a_device_lacks_does_not_shift_those_behind_it() -> None:
    merged = merge([
        operation("0", "a", 1.0, 2), operation("0", "b", 1.0, 3), operation("0", "c", 1.0, 4),
        operation("1", "a", 2.0, 5), operation("1", "c", 2.0, 6),
    ])  # fmt: skip
    assert [(each.name, each.time_s) for each in merged.operations] == [
        ("a", 2.0), ("b", 1.0), ("c", 2.0),
    ]  # fmt: skip
    assert merged.incomplete == 1


def test_a_device_of_another_host_is_another_device() -> None:
    operations = [
        operation("0", "a", time, 2, path=path) for path, time in (("x", 1.0), ("y", 2.0))
    ]
    assert execute_the_same(operations)
    assert [each.time_s for each in merge(operations).operations] == [2.0]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (TWO_DEVICES, True),
        (TWO_DEVICES[:-1], False),
        ([operation("0", "a", 1.0, 2)], False),
        ([], False),
    ],
)
def test_devices_that_execute_the_same(operations: list[Operation], expected: bool) -> None:
    assert execute_the_same(operations) is expected


def test_a_time_that_is_not_known_is_not_the_longest() -> None:
    merged = merge([operation("0", "a", None, 2), operation("1", "a", 1.0, 3)])
    assert [each.time_s for each in merged.operations] == [1.0]
