"""CSV of ``nsys stats``, of every version and unit, and of no program at all."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirlens.measured.reading.reader import find_reader, reader_of
from tirlens.measured.reading.trace_file import open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record, Signpost

SAMPLES = Path(__file__).parent / "samples"
KERNELS = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"


def records_of(path: Path) -> list[Record]:
    trace = open_trace(path)
    reader = reader_of(trace)
    assert reader.format_name == "CSV of nsys stats"
    return list(reader.records(trace))


@pytest.fixture
def read(tmp_path: Path) -> Iterator[object]:
    def read(text: str | bytes) -> list[Record]:
        path = tmp_path / "report.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return records_of(path)

    yield read


def only(kind: type, records: list[Record]) -> list:
    return [record for record in records if isinstance(record, kind)]


def test_a_summary_has_the_totals_of_its_rows() -> None:
    path = SAMPLES / "nsys_cuda_gpu_kern_sum.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))
    operations = only(Operation, records_of(path))
    assert [operation.name for operation in operations] == [row["Name"] for row in rows]
    assert [round(operation.time_s * 1e9) for operation in operations] == [
        int(row["Total Time (ns)"]) for row in rows
    ]
    assert sum(operation.executions for operation in operations) == 7600
    # The shares are of all 175 kernels of that report.
    total_s = operations[0].time_s / 0.304
    assert [round(100 * operation.time_s / total_s, 1) for operation in operations] == [
        float(row["Time (%)"]) for row in rows
    ]
    assert [operation.kind for operation in operations].count("collective") == 2


def test_several_reports_count_each_kernel_once() -> None:
    records = records_of(SAMPLES / "nsys_stats_several_reports.csv")
    operations = only(Operation, records)
    kernels = [operation for operation in operations if operation.kind == "kernel"]
    copies = [operation for operation in operations if operation.kind == "copy"]
    # Of the trace and not of the summaries before and after it.
    assert [round(kernel.time_s * 1e9) for kernel in kernels] == [854662, 326818]
    assert [round(copy.time_s * 1e9) for copy in copies] == [1664, 1504, 1504, 1504]
    assert kernels[0].grid == (2, 12544, 1)
    assert kernels[0].block == (128, 1, 1)
    assert kernels[0].registers == 86
    assert kernels[0].stream == "82"
    assert kernels[0].start_s == pytest.approx(19482309e-9)
    assert kernels[0].attributes["DymSMem"] == "0.004 MB"
    # Megabytes with three decimals are no count of bytes.
    assert kernels[0].shared_bytes is None
    (device,) = only(MeasuredDevice, records)
    assert device.name == "NVIDIA GeForce RTX 3090"
    assert device.device == kernels[0].device == "NVIDIA GeForce RTX 3090 (0)"
    # The ranges as projected onto the device, not those of the host.
    signposts = only(Signpost, records)
    assert signposts[0].name == "TensorRT:ExecutionContext::execute"
    assert signposts[0].start_s == pytest.approx(19369956e-9)
    assert signposts[0].end_s == pytest.approx((19369956 + 6457677) * 1e-9)
    # What nsys prints unasked is no fault of the file.
    assert not only(Problem, records)


@pytest.mark.parametrize(
    "text",
    [
        # 2019.5: no units
        "Time(%),Total Time,Instances,Average,Minimum,Maximum,Name\n60,300,3,100,90,110,k",
        # 2020.3
        "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n60,300,3,100,90,110,k",
        # 2021.2
        (
            "Time(%),Total Time (ns),Instances,Average (ns),Minimum (ns),Maximum (ns),Name\n"
            "60,300,3,100,90,110,k"
        ),
        f"{KERNELS}\n60.0,300,3,100.0,100.0,90,110,8.2,k",
        (
            "Time (%),Total Time (ns),Instances,Min (ns),Max (ns),GridXYZ,BlockXYZ,Name\n"
            "60.0,300,3,90,110,  32    4    1, 128    1    1,k"
        ),
        (
            "Time (%)\tTotal Time (us)\tInstances\tMin (us)\tMax (us)\tName\n"
            "60\t0.300\t3\t0.09\t0.11\tk"
        ),
        "Time (%);Total Time (ms);Instances;Min (ms);Max (ms);Name\n60;0.0003;3;9e-5;1.1e-4;k",
        "Time (%),Total Time (sec),Instances,Min (sec),Max (sec),Name\n60,3e-7,3,9e-8,1.1e-7,k",
        f"\ufeff{KERNELS}\r\n60.0,300,3,100.0,100.0,90,110,8.2,k\r\n",
        (
            "Generating SQLite file report.sqlite from report.nsys-rep\n"
            f"Processing [report.sqlite] with [reports/gpukernsum.py]... \n{KERNELS}\n"
            "60.0,300,3,100.0,100.0,90,110,8.2,k\n\n"
            "Processing [report.sqlite] with [reports/nvtx_sum.py]... \n"
            "SKIPPED: report.sqlite does not contain NV Tools Extension (NVTX) data.\n"
        ),
    ],
)
def test_every_version_and_unit_says_the_same(read, text: str) -> None:
    (operation,) = read(text)
    assert (operation.name, operation.executions, operation.kind) == ("k", 3, "kernel")
    assert operation.time_s == pytest.approx(300e-9)
    assert operation.min_s == pytest.approx(90e-9)
    assert operation.max_s == pytest.approx(110e-9)
    assert operation.grid == ((32, 4, 1) if "GridXYZ" in text else None)


def test_launches_of_the_host(read) -> None:
    (operation, *_) = only(
        Operation,
        read(
            "API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),"
            "Kernel Dur (ns),Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name"
            "\n19399822,21485,19421307,61002,19482309,854662,937149,24129,24129,0,cuLaunchKernelEx,"
            '   2 12544    1, 128    1    1,"void k<int, 4>(int*)"\n'
        ),
    )
    assert operation.name == "void k<int, 4>(int*)"
    assert operation.launched_s == pytest.approx(19399822e-9)
    assert operation.host_time_s == pytest.approx(21485e-9)
    assert operation.start_s == pytest.approx(19482309e-9)
    assert operation.time_s == pytest.approx(854662e-9)
    assert operation.grid == (2, 12544, 1)


def test_sums_of_launches_are_means_times_counts(read) -> None:
    (device, operation) = read(
        "PID,TID,DevId,Count,QCount,TAvg (ns),AAvg (ns),QAvg (ns),KAvg (ns),KMed (ns),KMin (ns),"
        "KMax (ns),KStdDev (ns),API Name,Kernel Name\n"
        "1,1,0,4,4,9.0,20.0,1.0,150.5,150.0,100,200,40.8,cudaLaunchKernel,k\n"
    )
    assert operation.time_s == pytest.approx(602e-9)
    assert operation.host_time_s == pytest.approx(80e-9)
    assert device == MeasuredDevice("0", None)


def test_calls_of_the_host_are_no_time_of_the_device(read) -> None:
    operations = read(
        "Time (%),Total Time (ns),Instances,Avg (ns),Category,Operation\n"
        "50.0,500,5,100.0,CUDA_API,cudaLaunchKernel\n30.0,300,3,100.0,CUDA_KERNEL,k\n"
        "20.0,200,2,100.0,MEMORY_OPER,[CUDA memset]\n"
    )
    assert [operation.kind for operation in operations] == ["host", "kernel", "copy"]
    assert [operation.time_s is None for operation in operations] == [True, False, False]
    assert operations[0].host_time_s == pytest.approx(500e-9)


def test_what_a_coarse_unit_rounds_to_zero_is_not_known(read) -> None:
    (operation,) = read(
        "Time (%),Total Time (sec),Instances,Min (sec),Max (sec),Name\n1,0.0001,5,0.0000,0.0001,k\n"
    )
    assert operation.min_s is None
    assert operation.max_s == pytest.approx(1e-4)


def test_ranges_of_the_default_domain_have_no_colon(read) -> None:
    records = read(
        "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,"
        "NumChild,RangeId,ParentId,RangeStack,NameTree\n"
        "-5,10,15,0,15,:step 1,1,1,0,0,1,,:1,:step 1\n20,30,10,0,10,lib:x,1,1,0,0,2,,:2,lib:x\n"
    )
    assert [(mark.name, mark.start_s, mark.end_s) for mark in only(Signpost, records)] == [
        ("step 1", -5e-9, 1e-8),
        ("lib:x", pytest.approx(2e-8), pytest.approx(3e-8)),
    ]


def test_two_inputs_are_both_read(read) -> None:
    block = f"Processing [{{}}.sqlite] with [gpukernsum.py]...\n{KERNELS}\n1,300,3,1,1,1,1,0,k\n\n"
    operations = read(block.format("a") + block.format("b"))
    assert [operation.executions for operation in operations] == [3, 3]


def test_reports_of_inputs_that_are_not_named_are_not_added_up(read) -> None:
    block = f"{KERNELS}\n1,300,3,1,1,1,1,0,k\n\n"
    records = read(block + block)
    assert len(only(Operation, records)) == 1
    (problem,) = only(Problem, records)
    assert problem.position.row == 4
    assert problem.message == "a report of the same operations is not read"


def test_reports_without_operations_are_named_if_there_are_no_others(read) -> None:
    sizes = "Total (MB),Count,Avg (MB),Operation\n0.001,4,0.000,[CUDA memset]\n\n"
    (problem,) = read(sizes)
    assert problem.message == "is not read: the bytes of copies have no times"
    assert not only(Problem, read(f"{sizes}{KERNELS}\n1,300,3,1,1,1,1,0,k\n"))


def test_a_report_of_other_columns_is_named(read) -> None:
    records = read(
        f"{KERNELS}\n1,300,3,1,1,1,1,0,k\n\nRank,Kernel,Elapsed (ns),Calls\nzero,k,1.000,2\n"
    )
    assert len(only(Operation, records)) == 1
    (problem,) = only(Problem, records)
    assert problem.position.row == 4
    assert "not read" in problem.message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("60.0,nan,3,1,1,1,1,0,k", "Total Time: 'nan' is not finite"),
        ("60.0,-5,3,1,1,1,1,0,k", "Total Time: '-5' is negative"),
        ("60.0,1e99,3,1,1,1,1,0,k", "Total Time: '1e99' is longer than a year"),
        ("60.0,300,0,1,1,1,1,0,k", "the count of executions is empty"),
        ("60.0,300,2.5,1,1,1,1,0,k", "Instances: '2.5' is no count"),
        ("60.0,300,3,1,1,1,1,0,k,more", "has 10 columns, its header 9"),
        ("60.0,300,3,1,1", "has 5 columns, its header 9"),
        ("60.0,=1+1,3,1,1,1,1,0,k", "Total Time: '=1+1' is no number"),
        ('60.0,"3,00",3,1,1,1,1,0,k', "Total Time: '3,00' is no number"),
        ("," * 1_000_000, "has 1000001 columns, its header 9"),
        ("x" * 200_000 + ",1", "no row of a CSV: field larger than field limit (131072)"),
    ],
)
def test_a_row_that_cannot_be_is_a_problem_at_its_line(read, row: str, message: str) -> None:
    records = read(f"{KERNELS}\n1,300,3,1,1,1,1,0,before\n{row}\n1,300,3,1,1,1,1,0,after\n")
    assert [operation.name for operation in only(Operation, records)] == ["before", "after"]
    (problem,) = only(Problem, records)
    assert problem.position.row == 3
    assert problem.message == message


def test_names_are_kept_as_they_are(read) -> None:
    names = ["=cmd|' /C calc'!A0", "\x1b[31mred\x1b[0m", "k\x00", "\u202eevil", "\udcff"]
    text = "".join(f"1,300,3,1,1,1,1,0,{name}\n" for name in names[:-1])
    operations = read(f"{KERNELS}\n{text}".encode() + b"1,300,3,1,1,1,1,0,\xff\n")
    assert [operation.name for operation in operations] == [
        *names[:2], "k\ufffd", names[3], "\ufffd",
    ]  # fmt: skip


def test_a_quote_that_does_not_end_is_a_problem(read) -> None:
    rows = "1,300,3,1,1,1,1,0,k\n" * 10_000
    records = read(f'{KERNELS}\n1,300,3,1,1,1,1,0,"open\n{rows}')
    assert only(Problem, records)[0].message.startswith("no row of a CSV")
    # The csv module gives up after 131072 characters, and reads on.
    assert len(only(Operation, records)) > 3000


@pytest.mark.slow
def test_a_line_of_a_gigabyte_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write(f"{KERNELS}\n1,300,3,1,1,1,1,0,k\n")
        for _ in range(40):
            file.write("1,2 " * (1 << 18))
    records = records_of(path)
    assert len(only(Operation, records)) == 1
    assert only(Problem, records)


def test_a_program_with_a_header_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(f'import tvm\nHEADER = "{KERNELS}"\n')
    assert find_reader(open_trace(path)) is None


def test_powershell_and_gzip(tmp_path: Path) -> None:
    text = f"{KERNELS}\r\n60.0,300,3,100.0,100.0,90,110,8.2,k\r\n"
    for name, content in (
        ("a.csv", text.encode("utf-16")),
        ("b.csv.gz", gzip.compress(text.encode())),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        (operation,) = records_of(path)
        assert operation.time_s == pytest.approx(300e-9)
