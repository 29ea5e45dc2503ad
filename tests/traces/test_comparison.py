"""Two runs: what is paired with what, and what is said of each operation."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable

import pytest

from tirlens.measured.records import MeasuredDevice, Operation, Position, Tensor
from tirlens.measured.runs.comparison import Comparison, TooLongError, compare
from tirlens.measured.runs.run import Run, run_of


def operation(name: str, time_s: float | None = 1e-5, **fields: object) -> Operation:
    return Operation(name, Position("trace", 1), time_s=time_s, **fields)  # type: ignore[arg-type]


def run(operations: Iterable[Operation | str], by_place: bool = False, device: str = "") -> Run:
    made = [operation(item) if isinstance(item, str) else item for item in operations]
    return run_of("trace", made, [MeasuredDevice("0", device)] if device else [], by_place)


def described(comparison: Comparison) -> list[str]:
    """``name relation`` of each change in its order, with the former name of another launch."""
    out: list[str] = []
    for change in comparison.changes:
        before, now = change.before, change.now
        names = dict.fromkeys(side.first.name for side in (before, now) if side)
        out.append(f"{'>'.join(names)} {change.relation}")
    return out


def repeated(name: str, times: Iterable[float], **fields: object) -> list[Operation]:
    return [operation(name, time_s, **fields) for time_s in times]


def test_a_removed_operation_does_not_shift_the_others() -> None:
    found = compare([run("abcde", True)], [run("acde", True)])
    assert described(found) == ["a same", "b gone", "c same", "d same", "e same"]


def test_an_inserted_and_a_replaced_operation() -> None:
    found = compare([run("abcde", True)], [run("axbyde", True)])
    assert described(found) == [
        "a same", "x new", "b same", "c gone", "y new", "d same", "e same",
    ]  # fmt: skip


def test_operations_that_changed_places_are_the_same() -> None:
    found = compare([run("abcdef", True)], [run("abedcf", True)])
    assert sorted(item.split()[0] for item in described(found)) == list("abcdef")
    assert {item.split()[1] for item in described(found)} == {"same", "moved"}


def test_layers_of_a_model_are_paired_in_their_order() -> None:
    layer = ["norm", "matmul", "softmax", "matmul", "add"]
    before = run(layer * 4, True)
    now = run([*layer, *layer, "gelu", *layer, *layer[:-1]], True)
    found = compare([before], [now])
    assert described(found).count("gelu new") == 1
    assert described(found).count("add gone") == 1
    assert sum(item.endswith("same") for item in described(found)) == 19


def test_without_places_all_executions_are_one_row() -> None:
    found = compare([run("abab")], [run("abb")])
    assert [
        (c.before.executions, c.now.executions) for c in found.changes if c.before and c.now
    ] == [
        (2, 1),
        (2, 2),
    ]


def test_another_grid_for_the_same_arguments_is_compared() -> None:
    inputs = (Tensor((4096, 4096), None, "float16"),)
    old = repeated("gemm", [1e-3, 1.01e-3, 0.99e-3], grid=(32, 32, 1), inputs=inputs)
    new = repeated("gemm_2", [1.5e-3, 1.51e-3, 1.49e-3], grid=(64, 64, 1), inputs=inputs)
    (change,) = compare([run(old)], [run(new)]).changes
    assert change.relation == "other-launch"
    assert change.time_growth == pytest.approx(0.5)
    assert change.verdict == "slower"


@pytest.mark.parametrize(
    "fields",
    [
        {"grid": (64, 1, 1)},
        {"grid": (32, 1, 1), "block": (256, 1, 1)},
        {"grid": (32, 1, 1), "inputs": (Tensor((64, 64)),)},
        {"grid": (32, 1, 1), "inputs": (Tensor((64, 64), (60, 60)),)},
        {"grid": (32, 1, 1), "attributes": {"call": "k(8)"}},
    ],
)
def test_another_call_of_the_same_name_is_not_compared(fields: dict[str, object]) -> None:
    old = run(repeated("k", [1.0, 1.1], grid=(32, 1, 1), inputs=()))
    (change,) = compare([old], [run(repeated("k", [9.0, 9.1], **fields))]).changes
    assert change.relation == "other-work"
    assert change.time_growth is None
    assert change.verdict == "other-work"


def test_memory_and_layout_are_no_sizes() -> None:
    old = operation("k", inputs=(Tensor((64, 64), None, "bf16", "TILE", "DEV_0_L1"),))
    new = operation("k", inputs=(Tensor((64, 64), None, "bf16", "ROW", "DEV_1_DRAM"),))
    (change,) = compare([run([old])], [run([new])]).changes
    assert change.relation == "same"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ([1.0, 1.02, 0.98, 1.01], [1.2, 1.22, 1.18, 1.21], "slower"),
        ([1.2, 1.22, 1.18, 1.21], [1.0, 1.02, 0.98, 1.01], "faster"),
        ([1.0, 1.5, 0.7, 1.1], [1.2, 1.7, 0.9, 1.3], "within-spread"),
        ([1.0], [1.2], "unknown-spread"),
        ([1.0], [1.0], "same"),
        ([1.0], [None], "no-time"),
    ],
)
def test_verdicts(old: list[float], new: list[float], verdict: str) -> None:
    (change,) = compare([run(repeated("k", old))], [run(repeated("k", new))]).changes
    assert change.verdict == verdict


def test_several_runs_are_the_unit_that_repeats() -> None:
    """Executions within a run agree; the runs do not, so that nothing is known to differ."""
    old = [run(repeated("k", [mean] * 50)) for mean in (1.0, 1.10, 0.95)]
    new = [run(repeated("k", [mean] * 50)) for mean in (1.05, 1.12, 1.02)]
    (change,) = compare(old, new).changes
    assert change.before is not None
    assert change.before.sample is not None
    assert (change.before.sample.count, change.before.sample.source) == (3, "runs")
    assert change.verdict == "within-spread"
    (single,) = compare(old[:1], new[:1]).changes
    assert single.verdict == "slower"


def test_totals_gaps_devices_and_the_host() -> None:
    old = [operation("a", 2.0, start_s=0.0), operation("b", 3.0, start_s=2.5),
           operation("launch", 9.0, kind="host")]  # fmt: skip
    new = [operation("a", None)]
    found = compare([run(old, device="H100")], [run(new, device="A100")])
    assert found.before.operations == 2
    assert found.before.time is not None
    assert found.before.time.mean_s == 5.0
    assert found.before.gap_s == 0.5
    assert found.now.time is None
    assert found.now.gap_s is None
    assert found.now.operations_without_time == 1
    assert found.has_other_device
    assert compare([run("a")], [run("a")]).has_unknown_device


def test_dram_bytes_are_those_of_an_execution() -> None:
    counters = {"dram__bytes_read.sum": 300.0, "dram__bytes_write.sum": 100.0}
    old = run([operation("k", 1.0, executions=4, dram_bytes=400)])
    new = run([operation("k", 1.0, counters=counters)])
    (change,) = compare([old], [new]).changes
    assert change.dram_growth == pytest.approx(3.0)


@pytest.mark.slow
def test_a_long_trace_by_name_is_quick_and_by_place_refused() -> None:
    generator = random.Random(3)
    names = [f"kernel_{generator.randrange(300)}" for _ in range(20_000)]
    begin = time.process_time()
    found = compare([run(names)], [run(names[5:])])
    assert time.process_time() - begin < 10
    assert {item.split()[1] for item in described(found)} <= {"same", "moved"}
    with pytest.raises(TooLongError, match=r"20,000 operations: at most 4,000"):
        compare([run(names, True)], [run(names, True)])


@pytest.mark.slow
def test_many_equal_operations_are_aligned_in_time() -> None:
    layer = ["norm", "matmul", "softmax", "matmul", "add"] * 40
    begin = time.process_time()
    found = compare([run(layer * 19, True)], [run([*layer * 10, "x", *layer * 9], True)])
    assert time.process_time() - begin < 20
    assert described(found).count("x new") == 1


def test_an_operation_that_is_executed_more_often_than_the_others() -> None:
    step = ["a", "b", "b", "c"]
    found = compare([run(step * 3)], [run([*step, "c"] * 6)])
    assert found.usual_execution_ratio == 2
    often = {change.operation.name: found.relative_executions(change) for change in found.changes}
    assert often == {"a": 1, "b": 1, "c": 2}
