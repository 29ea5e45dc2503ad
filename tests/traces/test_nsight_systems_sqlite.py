"""Databases of ``nsys export``: of two versions, of tables that lack, and of no export at all."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from support.nsight_export import COLUMNS, PROCESS, kernel, write_export
from tirlens.measured.reading.reader import find_reader, reader_of
from tirlens.measured.reading.trace_file import TraceError, open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record, Signpost

SAMPLES = Path(__file__).parent / "samples"
THREAD = PROCESS + 5
STRINGS = [(1, "void k<int, 4>(int*)"), (2, "k"), (3, "_Z1kIiLi4EEvPi"), (4, "step")]


def records_of(path: Path) -> list[Record]:
    trace = open_trace(path)
    reader = reader_of(trace)
    assert reader.format_name == "database of nsys export --type sqlite"
    return list(reader.records(trace))


def only(kind: type, records: list[Record]) -> list:
    return [record for record in records if isinstance(record, kind)]


def test_operations_have_launch_device_and_names() -> None:
    records = records_of(SAMPLES / "nsys_export_2022.1.sqlite")
    assert not only(Problem, records)
    assert only(MeasuredDevice, records) == [
        MeasuredDevice("NVIDIA A100-SXM4-40GB (0)", "NVIDIA A100-SXM4-40GB", "sm_80", 108)
    ]
    operations = only(Operation, records)
    kinds = [operation.kind for operation in operations]
    assert (kinds.count("kernel"), kinds.count("copy")) == (6, 4)
    first = next(operation for operation in operations if operation.kind == "kernel")
    assert first.name == "copy(float *, const float *)"
    assert first.attributes == {"short_name": "copy", "mangled_name": "_Z4copyPfPKf"}
    assert first.start_s == pytest.approx(808635271e-9)
    assert first.time_s == pytest.approx(8896e-9)
    assert (first.grid, first.block) == ((32, 32, 1), (32, 8, 1))
    assert (first.registers, first.shared_bytes) == (24, 0)
    assert first.device == "NVIDIA A100-SXM4-40GB (0)"
    assert first.launched_s is not None and first.launched_s < first.start_s
    assert first.host_time_s == pytest.approx(71735e-9)
    assert first.graph_launch is None
    assert operations[0].name == "[CUDA memcpy Host-to-Device]"
    assert operations[0].counters["bytes"] == 4194304
    starts = [operation.start_s for operation in operations]
    assert starts == sorted(starts)


def test_ranges_are_signposts_with_their_domain() -> None:
    records = records_of(SAMPLES / "nsys_export_2023.4.sqlite")
    signposts = only(Signpost, records)
    assert signposts[0].name == "TensorRT:ExecutionContext::execute"
    assert signposts[0].start_s == pytest.approx(18992108e-9)
    assert signposts[0].end_s == pytest.approx(25834711e-9)
    assert len(signposts) == 5


def test_marks_and_ranges_of_all_kinds(tmp_path: Path) -> None:
    def event(start: int, end: object, kind: int, text: object, text_id: object, domain: int):
        return (start, end, kind, None, None, None, text, THREAD, None, text_id, domain)

    path = write_export(
        tmp_path / "nvtx.sqlite",
        {
            "StringIds": STRINGS,
            "NVTX_EVENTS": [
                event(0, None, 75, "lib", None, 3),
                event(10, None, 34, "mark", None, 0),
                event(20, 30, 59, None, 4, 0),
                event(25, 40, 60, "range", None, 3),
                event(27, None, 59, "open", None, 0),
                event(28, None, 33, "a category", None, 0),
            ],
        },
    )
    records = records_of(path)
    assert [
        (mark.name, round(mark.start_s * 1e9), mark.end_s and round(mark.end_s * 1e9))
        for mark in only(Signpost, records)
    ] == [("mark", 10, None), ("step", 20, 30), ("lib:range", 25, 40), ("open", 27, None)]
    (problem,) = only(Problem, records)
    assert problem.message.startswith("has no kernels, copies or graphs")


def test_nodes_of_a_graph_share_a_launch(tmp_path: Path) -> None:
    launched = (0, 1, 7, 9, PROCESS)
    path = write_export(
        tmp_path / "graph.sqlite",
        {
            "StringIds": STRINGS,
            "TARGET_INFO_GPU": [(0, 0, "NVIDIA H100 PCIe", 114, 9, 0)],
            "CUPTI_ACTIVITY_KIND_KERNEL": [
                kernel(100, 120, correlation=9, graph_node=1),
                kernel(130, 150, correlation=9, graph_node=2),
                kernel(200, 230, correlation=10),
            ],
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(300, 400, *launched, 5, 6)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [
                (50, 70, 0, THREAD, 9, 2, 0, None),
                (80, 90, 0, THREAD, 10, 2, 0, None),
                # The same number in another process.
                (10, 20, 0, THREAD + (1 << 24), 10, 2, 0, None),
            ],
        },
    )
    records = records_of(path)
    assert not only(Problem, records)
    first, second, alone, graph = only(Operation, records)
    assert first.graph_launch == second.graph_launch == graph.graph_launch is not None
    assert first.launched_s == second.launched_s == pytest.approx(50e-9)
    # The call launched all nodes: its time is no node's.
    assert first.host_time_s is second.host_time_s is None
    assert graph.host_time_s == pytest.approx(20e-9)
    assert graph.name == "CUDA graph 5"
    assert (alone.graph_launch, alone.launched_s) == (None, pytest.approx(80e-9))
    assert first.shared_bytes == 5120


def test_two_calls_of_one_launch_count_its_kernel_once(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "calls.sqlite",
        {
            "StringIds": STRINGS,
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(100, 120, correlation=9)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [
                (50, 70, 0, THREAD, 9, 2, 0, None),
                (52, 68, 1, THREAD, 9, 2, 0, None),
            ],
        },
    )
    (operation,) = only(Operation, records_of(path))
    assert operation.launched_s == pytest.approx(50e-9)


def test_a_process_may_number_its_devices_otherwise(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "devices.sqlite",
        {
            "StringIds": STRINGS,
            "TARGET_INFO_GPU": [(0, n, "NVIDIA A100", 108, 8, 0) for n in range(2)],
            "TARGET_INFO_CUDA_DEVICE": [(1, 0, 7, "", 108)],
            "CUPTI_ACTIVITY_KIND_KERNEL": [
                kernel(1, 2, device=0),
                kernel(3, 4, device=0, process=PROCESS + (1 << 24)),
                kernel(5, 6, device=9),
            ],
        },
    )
    operations = only(Operation, records_of(path))
    assert [operation.device for operation in operations] == [
        "NVIDIA A100 (1)", "NVIDIA A100 (0)", "9",
    ]  # fmt: skip


def test_time_stamps_of_a_clock_begin_at_the_first(tmp_path: Path) -> None:
    now = 1_764_335_000_000_000_001
    path = write_export(
        tmp_path / "utc.sqlite",
        {
            "StringIds": STRINGS,
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(now, now + 7), kernel(now + 9, now + 11)],
        },
    )
    first, second = only(Operation, records_of(path))
    assert (first.start_s, first.time_s) == (0, pytest.approx(7e-9))
    assert second.start_s == pytest.approx(9e-9)


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        (["mangledName", "graphNodeId"], None),
        (["shortName", "graphNodeId"], "CUPTI_ACTIVITY_KIND_KERNEL has no shortName"),
        (["correlationId"], "has no CUPTI_ACTIVITY_KIND_RUNTIME: when the host launched"),
        (["globalPid"], "CUPTI_ACTIVITY_KIND_KERNEL has no globalPid"),
        (["demangledName", "gridX"], "CUPTI_ACTIVITY_KIND_KERNEL has no demangledName, gridX"),
        (["end"], "CUPTI_ACTIVITY_KIND_KERNEL has no end"),
    ],
)
def test_a_version_without_a_column_is_read_with_a_word(
    lacking: list[str], message: str | None, tmp_path: Path
) -> None:
    path = write_export(
        tmp_path / "old.sqlite",
        {
            "StringIds": STRINGS,
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(100, 120, correlation=9)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [(50, 70, 0, THREAD, 9, 2, 0, None)],
        },
        lacking,
    )
    records = records_of(path)
    messages = [problem.message for problem in only(Problem, records)]
    assert bool(messages) == (message is not None)
    assert message is None or any(text.startswith(message) for text in messages)
    operations = only(Operation, records)
    assert len(operations) == ("end" not in lacking)
    for operation in operations:
        assert operation.time_s == pytest.approx(20e-9)
        assert (operation.grid is None) == ("gridX" in lacking)
        assert operation.name == ("k" if "demangledName" in lacking else STRINGS[0][1])
        known = "correlationId" not in lacking and "globalPid" not in lacking
        assert operation.launched_s == (pytest.approx(50e-9) if known else None)


def kernel_with(**values: object) -> tuple[object, ...]:
    names = COLUMNS["CUPTI_ACTIVITY_KIND_KERNEL"].split(", ")
    return tuple(values.get(name, value) for name, value in zip(names, kernel(1, 5), strict=True))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (kernel_with(registersPerThread=-119), "registersPerThread is -119"),
        (kernel_with(staticSharedMemory=-1), "staticSharedMemory is -1"),
        (kernel_with(gridY=0), "gridX, gridY, gridZ are 2, 0, 1"),
        (kernel("x", 5), "start is 'x', no whole number"),
        (kernel(b"\xff\x00", 5), "start is \"b'\\\\xff\\\\x00'\", no whole number"),
        (kernel(None, 5), "start is empty"),
        (kernel(5, None), "end is empty"),
        (kernel(9, 5), "end 5 is before start 9"),
        (kernel(2.5, 5), "start is '2.5', no whole number"),
        (kernel(1, 5, device="=1+1"), "deviceId is '=1+1', no whole number"),
    ],
)
def test_a_row_that_cannot_be_is_a_problem(
    row: tuple[object, ...], message: str, tmp_path: Path
) -> None:
    path = write_export(
        tmp_path / "hostile.sqlite",
        {"StringIds": STRINGS, "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(1, 2), row, kernel(20, 30)]},
    )
    records = records_of(path)
    assert len(only(Operation, records)) == 2
    (problem,) = [problem for problem in only(Problem, records) if "row" in problem.message]
    assert problem.message == f"CUPTI_ACTIVITY_KIND_KERNEL, row 2: {message}"
    assert problem.position.row == 2


@pytest.mark.parametrize("column", ["domainId", "globalTid", "textId"])
def test_a_domain_that_cannot_be_is_a_problem(column: str, tmp_path: Path) -> None:
    event: dict[str, object] = dict.fromkeys(COLUMNS["NVTX_EVENTS"].split(", "))
    domain = {"start": 0, "eventType": 75, "globalTid": THREAD, "textId": 4, "domainId": 1}
    mark = {"start": 5, "eventType": 34, "globalTid": THREAD, "text": "mark", "domainId": 1}
    rows = [event | domain | {column: "x"}, event | domain, event | mark]
    path = write_export(
        tmp_path / "domains.sqlite",
        {"StringIds": STRINGS, "NVTX_EVENTS": [list(row.values()) for row in rows]},
    )
    records = records_of(path)
    assert [signpost.name for signpost in only(Signpost, records)] == ["step:mark"]
    messages = [problem.message for problem in only(Problem, records)]
    assert f"NVTX_EVENTS, row 1: {column} is 'x', no whole number" in messages


def test_names_that_are_not_there_or_too_long(tmp_path: Path) -> None:
    path = write_export(
        tmp_path / "names.sqlite",
        {
            "StringIds": [(1, "k" * 3_000_000), (2, "\x1b[31mk")],
            "CUPTI_ACTIVITY_KIND_KERNEL": [kernel(1, 2), kernel(3, 4, name=77)],
        },
    )
    long, unnamed = only(Operation, records_of(path))
    assert len(long.name) == 65536
    assert unnamed.name == "\x1b[31mk"


def test_a_view_in_the_place_of_a_table_is_not_evaluated(tmp_path: Path) -> None:
    path = write_export(tmp_path / "view.sqlite", {"StringIds": STRINGS, "NVTX_EVENTS": []})
    with sqlite3.connect(path) as database:
        columns = COLUMNS["CUPTI_ACTIVITY_KIND_KERNEL"].split(", ")
        database.execute(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE endless(n) AS"
            " (SELECT 1 UNION ALL SELECT n + 1 FROM endless)"
            f" SELECT {', '.join(f'n AS {column}' for column in columns)} FROM endless"
        )
    database.close()
    (problem, *rest) = records_of(path)
    assert isinstance(problem, Problem) and not rest


def test_a_truncated_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.sqlite"
    content = (SAMPLES / "nsys_export_2022.1.sqlite").read_bytes()
    for size in (100, 512, 2048, 5000, len(content) - 512):
        path.write_bytes(content[:size])
        trace = open_trace(path)
        reader = find_reader(trace)
        if reader is not None:
            with pytest.raises(TraceError, match=r"cut\.sqlite: cannot be read as a database"):
                list(reader.records(trace))


def test_bytes_that_are_changed_end_in_records_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "changed.sqlite"
    content = (SAMPLES / "nsys_export_2023.4.sqlite").read_bytes()
    for position in range(100, len(content), 97):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :]
        )
        trace = open_trace(path)
        reader = find_reader(trace)
        try:
            assert reader is None or list(reader.records(trace))
        except TraceError as error:
            assert "cannot be read as a database" in str(error)


def test_another_database_is_no_export(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE StringIds (id, value)")
    database.close()
    assert find_reader(open_trace(path)) is None


def test_the_file_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "export.sqlite"
    content = (SAMPLES / "nsys_export_2022.1.sqlite").read_bytes()
    path.write_bytes(content)
    records_of(path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["export.sqlite"]


def test_a_compressed_database_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "export.sqlite.gz"
    content = (SAMPLES / "nsys_export_2022.1.sqlite").read_bytes()
    path.write_bytes(gzip.compress(content))
    with pytest.raises(TraceError, match="expand it with gunzip"):
        list(reader_of(trace := open_trace(path)).records(trace))


def test_a_recording_says_how_it_is_exported(tmp_path: Path) -> None:
    path = tmp_path / "report1.nsys-rep"
    path.write_bytes(b"NVIDIA Tegra Profiler Report 2023@4@4@54" + bytes(64))
    with pytest.raises(TraceError, match="nsys export --type sqlite FILE"):
        list(reader_of(trace := open_trace(path)).records(trace))
