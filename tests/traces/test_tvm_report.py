"""The reports of TVM's profiler, as CSV and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.measured.reading.reader import reader_of
from tirlens.measured.reading.trace_file import open_trace
from tirlens.measured.records import Operation, Problem, Record, Tensor

SAMPLES = Path(__file__).parent / "samples"


def read(path: Path) -> list[Record]:
    trace = open_trace(path)
    return list(reader_of(trace).records(trace))


def operations(records: list[Record]) -> list[Operation]:
    return [record for record in records if isinstance(record, Operation)]


def test_csv() -> None:
    first, builtin, last = operations(read(SAMPLES / "tvm_report.csv"))
    assert (first.name, first.kind, first.device) == ("fused_dense_relu", "kernel", "cuda0")
    assert first.time_s == pytest.approx(12.3e-6)
    assert first.inputs == (
        Tensor((1, 64), dtype="float32"),
        Tensor((128, 64), dtype="float32"),
        Tensor((1, 128), dtype="float32"),
    )
    assert first.attributes == {"Hash": "9f1b1cf93b7e1a1e"}
    assert (builtin.kind, builtin.time_s, builtin.host_time_s) == (
        "host",
        None,
        pytest.approx(5e-7),
    )
    assert last.position.row == 4


def test_json_says_the_same() -> None:
    table, objects = (
        {each.name: each for each in operations(read(SAMPLES / f"tvm_report.{suffix}"))}
        for suffix in ("csv", "json")
    )
    for name in ("fused_dense", "fused_dense_relu"):
        for field in ("time_s", "executions", "inputs", "device", "kind"):
            assert getattr(table[name], field) == getattr(objects[name], field)
    assert objects["fused_dense"].counters == {"L2 misses": 512}


def test_the_order_of_columns_is_none(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text('Name,Percent,Duration (us),Cycles,Count\n"f",1,2.5,1e3,3\n')
    (found,) = operations(read(path))
    assert (found.executions, found.time_s, found.device) == (3, pytest.approx(2.5e-6), None)
    assert found.counters == {"Cycles": 1000}


@pytest.mark.parametrize("wrong", ["nan", "-1", "1e99", "", "=1+1"])
def test_a_time_that_is_none_is_said_at_its_row(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text(f"Name,Percent,Duration (us),Count\nf,1,2,1\nf,1,{wrong},1\nf,1,2\nf,1,2,0\n")
    records = read(path)
    assert len(operations(records)) == 1
    assert [each.position.row for each in records if isinstance(each, Problem)] == [3, 4, 5]


def test_a_report_that_is_cut_off_keeps_its_calls(tmp_path: Path) -> None:
    text = (SAMPLES / "tvm_report.json").read_text()
    path = tmp_path / "report.json"
    path.write_text(text[: text.index('"fused_dense",')])
    records = read(path)
    assert [each.name for each in operations(records)] == ["fused_dense_relu"]
    (problem,) = [each for each in records if isinstance(each, Problem)]
    assert "calls up to here are read" in problem.message


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ("float32[1, 64], int32[]", (Tensor((1, 64), dtype="float32"), Tensor((), dtype="int32"))),
        ("float32[1,64,]", (Tensor((1, 64), dtype="float32"),)),
        # Damaged text says nothing of its own shape, and leaves those of others.
        ("float32[19 128], int8[4]", (Tensor((4,), dtype="int8"),)),
        ("float32[1,,2], int8[4]", (Tensor((4,), dtype="int8"),)),
    ],
)
def test_shapes_of_arguments(shapes: str, expected: tuple[Tensor, ...], tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text(
        "Argument Shapes,Count,Device,Hash,Percent,Duration (us),Name\n"
        f'"{shapes}",1,"cuda0","9f1b",61.5,12.3,"fused_dense"\n'
    )
    reader = reader_of(open_trace(path))
    (record,) = reader.records(open_trace(path))
    assert isinstance(record, Operation) and record.inputs == expected
