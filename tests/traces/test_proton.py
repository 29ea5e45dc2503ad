"""Profiles of Triton's Proton: the totals of its viewer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tirlens.measured.reading.reader import reader_of
from tirlens.measured.reading.trace_file import TraceError, open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record

SAMPLES = Path(__file__).parent / "samples"


def read(path: Path) -> list[Record]:
    trace = open_trace(path)
    return list(reader_of(trace).records(trace))


def read_tree(folder: Path, *documents: Any) -> list[Record]:
    path = folder / "profile.hatchet"
    path.write_text(json.dumps(documents))
    return read(path)


def kernel(name: str, **metrics: Any) -> dict[str, Any]:
    time = {"time (ns)": 1000, "count": 1, "device_id": "0", "device_type": "CUDA"}
    return {"children": [], "frame": {"name": name, "type": "function"}, "metrics": time | metrics}


def scope(name: str, *children: Any) -> dict[str, Any]:
    return {"children": children, "frame": {"name": name}, "metrics": {}}


def operations(records: list[Record]) -> list[Operation]:
    return [record for record in records if isinstance(record, Operation)]


@pytest.mark.parametrize(
    ("sample", "executions", "time_ns", "flop", "size"),
    [
        ("proton_cuda", 11, 409_600, 110_000_000_000, 110_000_000),
        ("proton_hip", 2, 409_600, 110_000_000_000, 110_000_000),
        ("proton_scopes", 1, 1_664, 0, 2),
    ],
)
def test_the_totals_are_those_of_the_viewer(
    sample: str, executions: int, time_ns: int, flop: int, size: int
) -> None:
    """Inclusive metrics of ROOT by ``triton.profiler.viewer`` of Triton 3.9."""
    found = operations(read(SAMPLES / f"{sample}.hatchet"))
    assert sum(each.executions for each in found) == executions
    assert sum(each.time_s or 0 for each in found) == pytest.approx(time_ns * 1e-9)
    assert sum(each.flop or 0 for each in found) == flop
    assert sum(each.dram_bytes or 0 for each in found) == size


def test_devices_have_the_names_that_operations_have() -> None:
    records = read(SAMPLES / "proton_hip.hatchet")
    devices = [each for each in records if isinstance(each, MeasuredDevice)]
    assert devices == [
        MeasuredDevice("HIP 0", architecture="gfx90a", cores=104),
        MeasuredDevice("HIP 1", architecture="gfx942", cores=304),
    ]
    assert {each.device for each in operations(records)} == {"HIP 0", "HIP 1"}


def test_metrics_of_launches_are_left_out_with_a_word(tmp_path: Path) -> None:
    tree = scope(
        "ROOT",
        scope("__proton_launch_metadata", kernel("sum")),
        scope("__proton_launch_metadata:matmul", scope("inner", kernel("sum"))),
        kernel("matmul"),
    )
    records = read_tree(tmp_path, tree)
    assert [each.name for each in operations(records)] == ["matmul"]
    (problem,) = [each for each in records if isinstance(each, Problem)]
    assert problem.message == "2 kernels that compute metrics of launches are left out"


def test_scopes_and_metrics_of_the_program(tmp_path: Path) -> None:
    tree = scope("ROOT", scope("layer", scope("attention", kernel("k", flops16=5.0, tokens=7))))
    (found,) = operations(read_tree(tmp_path, tree))
    assert found.attributes["scope"] == "layer > attention"
    assert (found.flop, found.counters) == (5, {"tokens": 7})


def test_the_names_of_the_first_version(tmp_path: Path) -> None:
    node = {
        "children": [],
        "frame": {"name": "k"},
        "metrics": {"Time (ns)": 20, "Count": 2, "DeviceId": "1", "DeviceType": "CUDA"},
    }
    (found,) = operations(read_tree(tmp_path, scope("ROOT", node)))
    assert (found.time_s, found.executions, found.device) == (pytest.approx(2e-8), 2, "CUDA 1")


@pytest.mark.parametrize(
    "metrics",
    [
        {"time (ns)": -1},
        {"time (ns)": float("nan")},
        {"time (ns)": "x"},
        {"bytes": -5},
        {"count": float("inf")},
        {"flops8": "many"},
    ],
    ids=str,
)
def test_what_is_wrong_with_a_kernel_costs_no_other(
    metrics: dict[str, Any], tmp_path: Path
) -> None:
    records = read_tree(tmp_path, scope("ROOT", kernel("a"), kernel("b", **metrics), kernel("c")))
    assert [each.name for each in operations(records)] == ["a", "c"]
    (problem,) = [each for each in records if isinstance(each, Problem)]
    assert problem.position.row == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"children": [', "cut off"),
        ('[{"children": ' + "[" * 100_000, "nested too deeply|cut off"),
        ('[{"frame": {"name": "a"}}, }', "no JSON"),
    ],
    ids=["cut", "deep", "broken"],
)
def test_a_tree_that_is_none_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.hatchet"
    path.write_text(text + ' "frame" "metrics"')
    with pytest.raises(TraceError, match=message):
        read(path)
