"""The CSV files of rocprofv3 and its predecessors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tirlens.measured.reading.reader import reader_of
from tirlens.measured.reading.trace_file import open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record, Signpost

SAMPLES = Path(__file__).parent / "samples"


def read(path: Path) -> list[Record]:
    trace = open_trace(path)
    return list(reader_of(trace).records(trace))


def operations(records: list[Record]) -> list[Operation]:
    return [record for record in records if isinstance(record, Operation)]


def read_text(folder: Path, text: str) -> list[Record]:
    path = folder / "trace.csv"
    path.write_text(text)
    return read(path)


def test_a_kernel_trace_has_grids_in_blocks() -> None:
    found = operations(read(SAMPLES / "rocprofv3_kernel_trace.csv"))
    first = found[0]
    assert first.name == "void addition_kernel<float>(float*, float const*, float const*, int, int)"
    assert (first.device, first.stream) == ("1", "1")
    assert (first.grid, first.block, first.shared_bytes) == ((16, 1024, 1), (64, 1, 1), 0)
    assert first.time_s == pytest.approx(48.744e-6, rel=1e-12)
    assert sum(each.time_s or 0 for each in found) == pytest.approx(383.430e-6)


V3_COLUMNS = [
    # rocprofiler-sdk 0.3, 0.6, 1.0 and 1.1; what rocpd writes
    ('"Kind","Agent_Id","Queue_Id",', '"KERNEL_DISPATCH",2,9,', "Group_Segment_Size", ""),
    ('"Kind","Agent_Id","Queue_Id","Thread_Id",', '"K",2,9,77,', "Group_Segment_Size", ""),
    ('"Kind","Agent_Id","Stream_Id",', '"K","Agent 2",9,', "Group_Segment_Size", ""),
    ('"Kind","Agent_Id","Stream_Id",', '"K","Agent 2",9,', "LDS_Block_Size", '"VGPR_Count",'),
    (
        '"Guid","Kind","Agent_Id","Stream_Id",',
        '"0-1","K","Agent 2",9,',
        "Lds_Block_Size",
        '"Vgpr_Count",',
    ),
]


@pytest.mark.parametrize(("columns", "values", "shared", "registers"), V3_COLUMNS)
def test_all_versions_of_the_kernel_trace(
    columns: str, values: str, shared: str, registers: str, tmp_path: Path
) -> None:
    header = (
        f'{columns}"Kernel_Name","Start_Timestamp","End_Timestamp","{shared}",{registers}'
        '"Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"'
    )
    row = f'{values}"k(a, b)",1000,444520,1024,{"64," if registers else ""}256,1,1,16385,64,1'
    (found,) = operations(read_text(tmp_path, f"{header}\n{row}\n"))
    assert (found.name, found.device, found.stream) == ("k(a, b)", "2", "9")
    assert (found.grid, found.block) == ((65, 64, 1), (256, 1, 1))
    assert (found.shared_bytes, found.registers) == (1024, 64 if registers else None)
    assert found.time_s == pytest.approx(443.52e-6)


def test_counters_of_one_dispatch_are_one_operation(tmp_path: Path) -> None:
    header, first, second = (SAMPLES / "rocprofv3_counter_collection.csv").read_text().splitlines()
    more = first.replace('"SQ_WAVES",16384.000000', '"FETCH_SIZE",12.5')
    found = operations(read_text(tmp_path, "\n".join([header, first, more, second])))
    assert [each.counters for each in found] == [
        {"SQ_WAVES": 16384, "FETCH_SIZE": 12.5},
        {"SQ_WAVES": 16384},
    ]
    assert [each.time_s for each in found] == [pytest.approx(52.151e-6), pytest.approx(49.780e-6)]
    assert found[0].position.row == 2


def test_results_of_rocprof_with_counters_as_columns(tmp_path: Path) -> None:
    header, first, _ = (SAMPLES / "rocprof_results.csv").read_text().splitlines()
    (found,) = operations(read_text(tmp_path, f'{header},"VALUUtilization"\n{first},98.5\n'))
    assert found.name == "light_kernel(float*, int)"
    assert found.time_s == pytest.approx(804.159e-6, rel=1e-12)
    assert found.counters == {"VALUUtilization": 98.5}
    assert (found.registers, found.grid) == (8, None)
    assert found.attributes["threads"] == "20971520"


def test_copies() -> None:
    to_device, to_host = operations(read(SAMPLES / "rocprofv3_memory_copy_trace.csv"))
    assert (to_device.kind, to_device.device, to_host.device) == ("copy", "1", "1")
    assert to_device.time_s == pytest.approx(563.880e-6)


def test_marks_and_ranges_are_sections() -> None:
    found = read(SAMPLES / "rocprofv3_marker_api_trace.csv")
    assert all(isinstance(each, Signpost) for each in found)
    ends = {each.name: each.end_s for each in found if isinstance(each, Signpost)}
    assert ends["before hipLaunchKernel"] is None
    assert ends["hipMemcpy"] == pytest.approx(1520113.901483408)


def test_statistics_of_kernels_and_of_calls() -> None:
    copy, norm = operations(read(SAMPLES / "rocprofv3_kernel_stats.csv"))
    assert (norm.kind, norm.executions) == ("kernel", 1113)
    assert copy.kind == "kernel"
    assert norm.time_s == pytest.approx(13283.773e-6)
    assert (norm.min_s, norm.max_s) == (pytest.approx(6.009e-6), pytest.approx(51.117e-6))
    calls = operations(read(SAMPLES / "rocprofv3_hip_api_stats.csv"))
    assert {each.kind for each in calls} == {"host"}
    assert sum(each.host_time_s or 0 for each in calls) == pytest.approx(0.303093923)


def test_devices() -> None:
    assert read(SAMPLES / "rocprofv3_agent_info.csv") == [
        MeasuredDevice("0", "AMD Ryzen 9 3900X 12-Core Processor"),
        MeasuredDevice("1", "Radeon RX Vega", "gfx900", 64),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('"k",1000,999', "before the begin"),
        ('"k",1000,nan', "not finite"),
        ('"k",-5,10', "no time stamp"),
        ('"k",1000', "cut off"),
        ('"k",1e3,2e3', "no time stamp"),
        ('"k",' + "9" * 5000 + ",1", "no time stamp|not finite"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(row: str, message: str, tmp_path: Path) -> None:
    text = f'"Kernel_Name","Start_Timestamp","End_Timestamp"\n"k",1,2\n{row}\n"k",3,4\n'
    records = read_text(tmp_path, text)
    assert len(operations(records)) == 2
    (problem,) = [each for each in records if isinstance(each, Problem)]
    assert problem.position.row == 3
    assert re.search(message, problem.message)


def test_sums_of_domains_are_no_operations(tmp_path: Path) -> None:
    text = (
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n'
        '"KERNEL_DISPATCH",16,521437,32589,0.1\n"HIP_API",20,1,1,0.2\n"my_kernel",1,5,5,1\n'
    )
    records = read_text(tmp_path, text)
    assert [each.name for each in operations(records)] == ["my_kernel"]
    assert len(records) == 3


def test_a_counter_without_a_column_of_values_is_left_out(tmp_path: Path) -> None:
    text = (SAMPLES / "rocprofv3_counter_collection.csv").read_text()
    found = operations(read_text(tmp_path, text.replace("Counter_Value", "Counter_Values")))
    assert [each.name[:4] for each in found] == ["void", "subt"]
    assert all("SQ_WAVES" not in each.counters for each in found)
