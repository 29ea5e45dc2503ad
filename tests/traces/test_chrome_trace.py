"""Chrome traces: kernels with their launch, operator and section; the operations of a host."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tirlens.measured.reading.reader import reader_of
from tirlens.measured.reading.trace_file import open_trace
from tirlens.measured.records import (
    MeasuredDevice,
    Operation,
    Problem,
    Record,
    Signpost,
    Tensor,
)

SAMPLES = Path(__file__).parent / "samples"
KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "ts": 10, "dur": 2}


def read(path: Path) -> list[Record]:
    trace = open_trace(path)
    return list(reader_of(trace).records(trace))


def read_events(folder: Path, *events: Any, **members: Any) -> list[Record]:
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, **members, "traceEvents": events}))
    return read(path)


def operations(records: list[Record]) -> list[Operation]:
    return [record for record in records if isinstance(record, Operation)]


def problems(records: list[Record]) -> list[str]:
    return [record.message for record in records if isinstance(record, Problem)]


def test_a_kernel_of_cuda_has_its_launch_and_its_operator() -> None:
    records = read(SAMPLES / "torch_cuda.json")
    (kernel,) = operations(records)
    assert (kernel.name, kernel.kind) == ("triton_poi_fused_add_cos_sin_0", "kernel")
    assert kernel.time_s == pytest.approx(1.76e-6)
    assert kernel.host_time_s == pytest.approx(47.768e-6)
    assert (kernel.grid, kernel.block) == ((1, 1, 1), (128, 1, 1))
    assert (kernel.registers, kernel.shared_bytes) == (16, 0)
    assert (kernel.device, kernel.stream) == ("0", "7")
    assert kernel.launched_s is not None and kernel.start_s is not None
    assert kernel.start_s - kernel.launched_s == pytest.approx(45.426e-6)
    assert kernel.attributes["launch"] == "cuLaunchKernel"
    assert kernel.inputs
    (device,) = [record for record in records if isinstance(record, MeasuredDevice)]
    assert device == MeasuredDevice("0", "NVIDIA A100-PG509-200", "sm_80", 108)
    assert [record.name for record in records if isinstance(record, Signpost)] == ["ProfilerStep#1"]
    assert problems(records) == []


def test_rocm_states_grids_at_the_launch_and_in_threads_for_one_of_its_calls() -> None:
    records = read(SAMPLES / "torch_rocm.json.gz")
    found = operations(records)
    assert sum(each.time_s or 0 for each in found) == pytest.approx(149.042e-6)
    assert [each.kind for each in found].count("copy") == 2
    kernels = [each for each in found if each.kind == "kernel"]
    assert all(each.block for each in kernels)
    in_threads = [
        each for each in kernels if each.attributes["launch"] == "hipExtModuleLaunchKernel"
    ]
    assert [each.grid for each in in_threads] == [(2, 1, 1), (2, 8, 1)]
    starts = [each.start_s for each in found]
    assert starts == sorted(starts, key=lambda start: start or 0)


def test_operations_of_a_cpu_have_the_time_without_those_that_they_call(tmp_path: Path) -> None:
    def event(name: str, start: float, time: float, **more: Any) -> dict[str, Any]:
        return {"ph": "X", "cat": "cpu_op", "name": name, "ts": start, "dur": time, **more}

    records = read_events(
        tmp_path,
        event("inner", 20, 30, pid=1, tid=1),
        event("other thread", 22, 5, pid=1, tid=2),
        event("outer", 10, 100, pid=1, tid=1),
        event("leaf", 25, 10, pid=1, tid=1),
        event("after", 110, 1, pid=1, tid=1),
    )
    own_us = {each.name: round((each.host_time_s or 0) * 1e6, 3) for each in operations(records)}
    assert own_us == {"outer": 70, "inner": 20, "other thread": 5, "leaf": 10, "after": 1}
    assert {each.kind for each in operations(records)} == {"host"}
    assert all(each.time_s is None for each in operations(records))


def test_torch_on_a_cpu() -> None:
    """The own times of torch 2.13's `key_averages` for the same recording."""
    found = operations(read(SAMPLES / "torch_cpu.json"))
    addmm = [each for each in found if each.name == "aten::addmm"]
    assert addmm[0].inputs == (
        Tensor((128,), dtype="float"),
        Tensor((32, 64), dtype="float"),
        Tensor((64, 128), dtype="float"),
    )
    assert {each.kind for each in found} == {"host"}


def test_events_come_in_any_order(tmp_path: Path) -> None:
    kernel = {**KERNEL, "args": {"External id": 7, "correlation": 3, "stream": 7, "device": 1}}
    launch = {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "ts": 1,
        "dur": 4,
        "args": {"correlation": 3},
    }
    operator = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::mm",
        "ts": 0,
        "dur": 6,
        "args": {
            "External id": 7,
            "Input Dims": [[8, 4], [4, 2], [], [[2, 2], [3]]],
            "Input type": ["float", "c10::Half", "Scalar", "TensorList"],
        },
    }
    expected = (
        Tensor((8, 4), dtype="float"),
        Tensor((4, 2), dtype="c10::Half"),
        Tensor((2, 2)),
        Tensor((3,)),
    )
    for events in [(kernel, launch, operator), (operator, launch, kernel)]:
        (found,) = operations(read_events(tmp_path, *events))
        assert found.inputs == expected
        assert found.attributes == {"operator": "aten::mm", "launch": "cudaLaunchKernel"}
        assert found.host_time_s == pytest.approx(4e-6)
        assert (found.start_s, found.device) == (pytest.approx(10e-6), "1")


def test_kernels_of_one_graph_share_the_time_of_its_launch(tmp_path: Path) -> None:
    launch = {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaGraphLaunch",
        "ts": 1,
        "dur": 6,
        "args": {"correlation": 5},
    }
    kernels = [{**KERNEL, "ts": 10 * n, "args": {"correlation": 5}} for n in (1, 2, 3)]
    found = operations(read_events(tmp_path, launch, *kernels))
    assert [each.graph_launch for each in found] == ["5"] * 3
    assert sum(each.host_time_s or 0 for each in found) == pytest.approx(6e-6)


def test_a_section_has_the_window_of_its_kernels_on_all_streams(tmp_path: Path) -> None:
    def section(category: str, name: str, start: int, time: int, identity: int) -> dict[str, Any]:
        event = {"ph": "X", "cat": category, "name": name, "ts": start, "dur": time}
        return {**event, "args": {"External id": identity}}

    records = read_events(
        tmp_path,
        section("user_annotation", "step", 0, 5, 1),
        section("user_annotation", "host only", 2, 1, 2),
        section("gpu_user_annotation", "step", 10, 5, 1),
        section("gpu_user_annotation", "step", 12, 8, 1),
        section("gpu_user_annotation", "step", 30, 5, 3),
        KERNEL,
    )
    found = [record for record in records if isinstance(record, Signpost)]
    windows = [(each.name, each.start_s, each.end_s) for each in found]
    assert windows == [
        ("host only", pytest.approx(2e-6), pytest.approx(3e-6)),
        ("step", pytest.approx(10e-6), pytest.approx(20e-6)),
        ("step", pytest.approx(30e-6), pytest.approx(35e-6)),
    ]


def test_time_stamps_of_nanoseconds_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = ",".join(
        f'{{"ph": "X", "cat": "kernel", "name": "k", "ts": 1712195495519689.00{digit}, "dur": 1}}'
        for digit in (1, 2)
    )
    path.write_text(f'{{"traceEvents": [{events}]}}')
    assert [each.start_s for each in operations(read(path))] == [0, pytest.approx(1e-9, rel=1e-9)]


@pytest.mark.parametrize(
    "name",
    ["ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_Broadcast", "rcclGenericKernel"],
)
def test_collectives_are_told_from_kernels(name: str, tmp_path: Path) -> None:
    arguments = {"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float"}
    (found,) = operations(read_events(tmp_path, {**KERNEL, "name": name, "args": arguments}))
    assert found.kind == "collective"
    assert found.attributes["In msg nelems"] == "8"


def test_proton_writes_a_document_for_each_stream(tmp_path: Path) -> None:
    documents = [
        {
            "displayTimeUnit": "us",
            "traceEvents": [{**KERNEL, "tid": stream, "args": {"call_stack": ["ROOT", "a", "k"]}}],
        }
        for stream in (0, 7)
    ]
    path = tmp_path / "proton.chrome_trace"
    path.write_text("\n".join(map(json.dumps, documents)) + "\n")
    found = operations(read(path))
    assert [each.stream for each in found] == ["0", "7"]
    assert found[0].attributes["call_stack"] == "ROOT > a > k"


def test_kernels_of_jax(tmp_path: Path) -> None:
    arguments = {
        "correlation_id": "9",
        "hlo_module": "jit_f",
        "kernel_details": "regs:16 static_shared:8 dynamic_shared:24 grid:4,1,1 block:32,2,1",
    }
    kernel = {
        "ph": "X",
        "name": "fusion",
        "pid": 1,
        "tid": 5,
        "ts": 1.5,
        "dur": 2,
        "args": arguments,
    }
    derived = {
        "ph": "X",
        "name": "jit_f",
        "pid": 1,
        "tid": 6,
        "ts": 1,
        "dur": 3,
        "args": {"x": "y"},
    }
    (found,) = operations(read_events(tmp_path, kernel, derived))
    assert (found.grid, found.block) == ((4, 1, 1), (32, 2, 1))
    assert (found.registers, found.shared_bytes) == (16, 32)


def test_an_array_of_events_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([KERNEL, KERNEL]))
    assert len(operations(read(path))) == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dur": -1}, "negative"),
        ({"dur": None}, "no such time"),
        ({"dur": "NaN"}, "not finite"),
        ({"ts": 1e300}, "is no time"),
        ({"ts": "x"}, "no number"),
        ({"ts": [1]}, "no such time"),
        ({"dur": 10**30}, "is no time"),
    ],
)
def test_what_is_wrong_with_an_event_is_said_at_its_place(
    wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    records = read_events(tmp_path, KERNEL, {**KERNEL, **wrong}, KERNEL)
    assert len(operations(records)) == 2
    (problem,) = [record for record in records if isinstance(record, Problem)]
    assert problem.position.row == 2
    assert message in problem.message


@pytest.mark.parametrize(
    "arguments",
    [
        {"grid": "x", "block": [1, -1, 1], "registers per thread": 1.5, "correlation": [1]},
        {"grid": [10**400, 1, 1], "External id": 10**400, "device": {"a": 1}, "stream": None},
        {"Input Dims": 5, "bytes": "many", "shared memory": "\ud800"},
        None,
        [],
        "text",
    ],
)
def test_arguments_that_are_none_are_left_out(arguments: Any, tmp_path: Path) -> None:
    (found,) = operations(read_events(tmp_path, {**KERNEL, "name": "\ud800=1", "args": arguments}))
    assert (found.grid, found.registers, found.name) == (None, None, "?=1")


def test_a_trace_without_operations_says_so(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "blink", "name": "paint", "ts": 1, "dur": 1}
    assert problems(read_events(tmp_path, event, event)) == [
        "2 events of the category 'blink' are not read",
        "of 2 events, none is a kernel, a copy or an operation of torch, Proton or JAX on a GPU",
    ]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_what_is_before_the_cut_is_read(cut: int, tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [KERNEL] * 50})
    path = tmp_path / "trace.json"
    path.write_text(text[:-cut])
    records = read(path)
    assert len(operations(records)) >= 49
    assert "events up to here are read" in problems(records)[-1]


def test_a_compressed_trace_that_is_cut_off(tmp_path: Path) -> None:
    events = [
        {**KERNEL, "name": f"k{number}", "ts": number * 7919 % 10007} for number in range(9999)
    ]
    compressed = gzip.compress(json.dumps({"traceEvents": events}).encode())
    path = tmp_path / "trace.json.gz"
    path.write_bytes(compressed[: len(compressed) // 2])
    records = read(path)
    assert len(operations(records)) > 1000
    assert "cut off or damaged" in problems(records)[-1]


@pytest.mark.slow
def test_a_file_that_expands_without_bound_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    with gzip.open(path, "wb") as file:
        file.write(b'{"traceEvents": [')
        for _ in range(200):
            file.write(b" " * (1 << 20))
    assert any("expands more than" in message for message in problems(read(path)))
