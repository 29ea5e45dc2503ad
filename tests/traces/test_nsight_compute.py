"""CSV of ncu in all its pages, and its reports: the same figures from each."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.nsight_report import block, entry, field, report, result
from tirlens.measured.reading.nsight_compute import metric_name, unit_factor
from tirlens.measured.reading.reader import find_reader, reader_of
from tirlens.measured.reading.trace_file import TraceError, open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record, SourceLine

SAMPLES = Path(__file__).parent / "samples"
DETAILS = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"\n'
)
METRICS = "Command line profiler metrics"


def records_of(path: Path) -> list[Record]:
    trace = open_trace(path)
    return list(reader_of(trace).records(trace))


def only(kind: type, records: list[Record]) -> list:
    return [record for record in records if isinstance(record, kind)]


@pytest.fixture
def read(tmp_path: Path):
    def read(text: str | bytes) -> list[Record]:
        path = tmp_path / "ncu.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return records_of(path)

    return read


def row(name: str, unit: str, value: str, kernel: str = "k", number: str = "0") -> str:
    cells = [
        number,
        "1",
        "python",
        "host",
        kernel,
        "1",
        "7",
        "(128, 1, 1)",
        "(4, 2, 1)",
        "0",
        "9.0",
    ]
    return ",".join(f'"{cell}"' for cell in [*cells, METRICS, name, unit, value]) + "\n"


def test_raw_page_and_report_say_the_same() -> None:
    page = only(Operation, records_of(SAMPLES / "ncu_raw_page.csv"))
    whole = only(Operation, records_of(SAMPLES / "ncu_report.ncu-rep"))
    assert len(page) == len(whole) == 2
    for left, right in zip(page, whole, strict=True):
        assert left.name == right.name
        assert (left.grid, left.block, left.registers) == (right.grid, right.block, right.registers)
        assert (left.device, left.stream) == (right.device, right.stream)
        assert left.shared_bytes == right.shared_bytes
        assert left.time_s == pytest.approx(right.time_s, rel=1e-6)
        assert left.dram_bytes == pytest.approx(right.dram_bytes, rel=1e-6)
        assert left.flop == pytest.approx(right.flop, rel=1e-6)
        for name, value in left.counters.items():
            # The page has two decimals of some.
            assert right.counters[name] == pytest.approx(value, rel=1e-5, abs=5.1e-3)
    assert whole[0].attributes["mangled_name"] == "_Z7initRNGP17curandStateXORWOWj"
    assert whole[0].attributes["short_name"] == "initRNG"


def test_a_report_of_a_kernel() -> None:
    device, first, second = records_of(SAMPLES / "ncu_report.ncu-rep")
    assert device == MeasuredDevice("GeForce RTX 3080 (0)", "GeForce RTX 3080", "sm_86", 68)
    assert first.time_s == pytest.approx(77_686_368e-9)
    assert first.grid == (156160, 1, 1)
    assert first.block == (128, 1, 1)
    assert first.registers == 107
    assert first.counters["smsp__inst_executed.sum"] == 5_048_167_196
    # ncu: 41.67 Gbyte/second.
    assert first.dram_bytes / first.time_s == pytest.approx(41.673741e9, rel=1e-6)
    assert (first.flop, first.attributes["flop_counted"]) == (0, "fp32, fp64")
    assert second.flop == pytest.approx(70_000_000, rel=1e-6)


def test_details_have_the_names_of_the_metrics_that_labels_are() -> None:
    details = only(Operation, records_of(SAMPLES / "ncu_details_page.csv"))
    whole = only(Operation, records_of(SAMPLES / "ncu_report.ncu-rep"))
    for left, right in zip(details, whole, strict=True):
        assert (left.name, left.grid, left.block) == (right.name, right.grid, right.block)
        assert (left.registers, left.shared_bytes) == (right.registers, right.shared_bytes)
        assert left.time_s == pytest.approx(right.time_s, rel=1e-3)
        assert left.dram_bytes == pytest.approx(right.dram_bytes, rel=1e-3)
        shared = left.counters.keys() & right.counters.keys()
        assert len(shared) > 10
        for name in shared:
            assert right.counters[name] == pytest.approx(left.counters[name], rel=6e-3, abs=5.1e-3)
        assert not any(": " in name for name in left.counters)
    # What a rule says stands with its kernel.
    assert any("SOL" in name for name in details[0].attributes)


def test_a_summary_is_of_all_executions() -> None:
    (operation,) = only(Operation, records_of(SAMPLES / "ncu_summary.csv"))
    assert operation.executions == 3
    assert operation.time_s == pytest.approx(3 * 284.53e-6, rel=1e-3)
    assert operation.min_s <= operation.time_s / 3 <= operation.max_s


def test_instructions_add_up_to_the_kernel() -> None:
    lines = only(SourceLine, records_of(SAMPLES / "ncu_source_page_sass.csv"))
    assert [line.execution for line in lines] == [1] * 6 + [2] * 3
    assert lines[0].kernel == "initRNG(curandStateXORWOW *, unsigned int)"
    assert lines[0].text.strip() == "MOV R1, c[0x0][0x28]"
    assert lines[0].address == 0xB00BB6100
    assert lines[0].counters["Instructions Executed"] == 4880
    assert lines[0].counters["stall_imc"] == 55
    assert lines[0].line is None


def test_lines_of_source_stand_before_their_instructions() -> None:
    lines = only(SourceLine, records_of(SAMPLES / "ncu_source_page_cuda_sass.csv"))
    (first, *instructions) = lines[:6]
    assert (first.file, first.line, first.address) == ("piestimator.cu", 25, None)
    assert all(line.line == 25 and line.address is not None for line in instructions)
    assert all(line.text.strip() for line in instructions)
    assert lines[-1].kernel.startswith("void computeValue<float>")


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("", 1), ("%", 1), ("byte", 1), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9),
        ("Gbyte/second", 1e9), ("Gbyte/s", 1e9), ("byte/second", 1), ("Kbyte/block", 1e3),
        ("byte/block", 1), ("nsecond", 1e-9), ("ns", 1e-9), ("usecond", 1e-6), ("us", 1e-6),
        ("msecond", 1e-3), ("ms", 1e-3), ("second", 1), ("s", 1), ("cycle/nsecond", 1e9),
        ("cycle/usecond", 1e6), ("cycle/second", 1), ("Ghz", 1e9), ("Mhz", 1e6), ("hz", 1),
        ("cycle", 1), ("Kinst", 1e3), ("inst/cycle", 1), ("register/thread", 1), ("warp", 1),
        ("thread", 1), ("block", 1), ("sector", 1), ("request", 1), ("(!) n/a", 1),
        ("Mthing", None), ("Gbyte/Kthing", None), ("Msecond", None), ("ks", None),
    ],
)  # fmt: skip
def test_units_are_converted(unit: str, factor: float | None) -> None:
    assert unit_factor(unit) == (None if factor is None else pytest.approx(factor))


@pytest.mark.parametrize(
    ("section", "label", "unit", "name"),
    [
        (METRICS, "dram__bytes.sum", "byte", "dram__bytes.sum"),
        ("Occupancy", "Achieved Occupancy (sm__warps_active.avg.x)", "%", "sm__warps_active.avg.x"),
        ("GPU Speed Of Light Throughput", "Duration", "us", "gpu__time_duration.sum"),
        (
            "GPU Speed Of Light Throughput", "Memory Throughput", "%",
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        ),
        ("Memory Workload Analysis", "Memory Throughput", "Gbyte/s", "dram__bytes.sum.per_second"),
        ("My section", "My label", "", "My section: My label"),
    ],
)  # fmt: skip
def test_labels_are_metrics(section: str, label: str, unit: str, name: str) -> None:
    assert metric_name(section, label, unit) == name


def test_remarks_of_ncu_and_of_the_program_are_passed_over(read) -> None:
    records = read(
        "==PROF== Connected to process 1 (/usr/bin/python)\nloss, step, time, rate, x\n"
        '==PROF== Profiling "k" - 0: 0%....50%....100% - 9 passes\n'
        + DETAILS
        + row("gpu__time_duration.sum", "usecond", "1,234.50")
        + row("dram__bytes_read.sum", "Mbyte", "2.00")
        + row("dram__bytes_write.sum", "Kbyte", "500.00")
        + row("sm__x.sum", "inst", "n/a")
        + "==PROF== Disconnected from process 1\n"
    )
    (operation,) = only(Operation, records)
    assert not only(Problem, records)
    assert operation.time_s == pytest.approx(1234.5e-6)
    assert operation.dram_bytes == 2_500_000
    assert (operation.grid, operation.block) == ((4, 2, 1), (128, 1, 1))
    assert "sm__x.sum" not in operation.counters
    (device,) = only(MeasuredDevice, records)
    assert device == MeasuredDevice("0", None, "sm_90", None)


@pytest.mark.parametrize("thousand", ["1.234.567,50", "0,25"])
def test_a_locale_with_decimal_commas(read, thousand: str) -> None:
    (operation,) = only(
        Operation,
        read(
            DETAILS
            + row("gpu__time_duration.sum", "usecond", "1.234,500")
            + row("sm__x.avg", "", thousand)
            + row("sm__y.avg", "", "12.345")
        ),
    )
    assert operation.time_s == pytest.approx(1234.5e-6)
    assert operation.counters["sm__y.avg"] == 12345
    assert operation.counters["sm__x.avg"] == {"0,25": 0.25, "1.234.567,50": 1234567.5}[thousand]


def test_text_like_a_number_of_another_locale_changes_no_number(read) -> None:
    records = read(
        DETAILS
        + row("gpu__time_duration.sum", "usecond", "12.50", kernel="3,5")
        + row("sm__x.avg", "", "1,234", kernel="3,5")
    )
    (operation,) = only(Operation, records)
    assert operation.time_s == pytest.approx(12.5e-6)
    assert operation.counters["sm__x.avg"] == 1234


SASS = "sm__sass_thread_inst_executed_op_"


@pytest.mark.parametrize(
    ("metrics", "flop", "counted"),
    [
        ({"fadd": 10, "fmul": 20, "ffma": 100}, 230, "fp32 (tensor instructions not counted)"),
        (
            {"fadd": 1, "fmul": 2, "ffma": 3, "dadd": 4, "dmul": 5, "dfma": 6}, 30,
            "fp32, fp64 (tensor instructions not counted)",
        ),
        ({"fadd": 10, "ffma": 100}, None, None),
        ({"fadd": 1, "fmul": 2, "ffma": 3, "sm__inst_executed_pipe_tensor.sum": 0}, 9, "fp32"),
        ({"fadd": 1, "fmul": 2, "ffma": 3, "sm__inst_executed_pipe_tensor.sum": 5}, None, None),
        (
            {"fadd": 1, "fmul": 2, "ffma": 3, "sm__inst_executed_pipe_tensor.sum": 5,
             "sm__ops_path_tensor_src_fp16_dst_fp32.sum": 4096},
            4105, "fp32, tensor",
        ),
        ({"gpu__x.sum": 1}, None, None),
    ],
)  # fmt: skip
def test_flop_only_where_all_are_counted(
    read, metrics: dict[str, int], flop: int | None, counted: str | None
) -> None:
    (operation,) = only(
        Operation,
        read(
            DETAILS
            + "".join(
                row(name if "__" in name else f"{SASS}{name}_pred_on.sum", "inst", str(value))
                for name, value in metrics.items()
            )
        ),
    )
    assert operation.flop == flop
    assert operation.attributes.get("flop_counted") == counted


def test_flop_of_rates_as_the_roofline_has_them(read) -> None:
    rates = {"fadd": "2", "fmul": "0", "ffma": "4"}
    (operation,) = only(
        Operation,
        read(
            DETAILS
            + "".join(
                row(f"smsp{SASS[2:]}{name}_pred_on.sum.per_cycle_elapsed", "inst/cycle", value)
                for name, value in rates.items()
            )
            + row("smsp__cycles_elapsed.avg.per_second", "Ghz", "1.50")
            + row("gpu__time_duration.sum", "ms", "2.00")
            + row("dram__bytes.sum.per_second", "Gbyte/s", "100.00")
        ),
    )
    assert operation.flop == 10 * 1_500_000_000 * 2 // 1000
    assert operation.dram_bytes == 200_000_000


def test_executions_of_one_kernel_are_apart(read) -> None:
    records = read(
        DETAILS
        + row("gpu__time_duration.sum", "ns", "5", number="0")
        + row("gpu__time_duration.sum", "ns", "6", number="1")
        + row("gpu__time_duration.sum", "ns", "7", number="2", kernel="ncclDevKernel_AllReduce")
    )
    operations = only(Operation, records)
    assert [round(operation.time_s * 1e9) for operation in operations] == [5, 6, 7]
    assert operations[2].kind == "collective"
    assert [operation.position.row for operation in operations] == [2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            row("gpu__time_duration.sum", "ns", "-5"),
            "gpu__time_duration.sum: '-5' ns is no duration",
        ),
        (row("sm__x.sum", "inst", "1e999"), "sm__x.sum: '1e999' is not finite"),
        (row("sm__x.sum", "inst", "1,2,3"), "sm__x.sum: '1,2,3' is no number"),
        (row("sm__x.sum", "Gthing", "1"), "sm__x.sum: the unit 'Gthing' is not known"),
        (row("a__b", "", "1").replace("(4, 2, 1)", "(4, 2)"), "Grid Size: '(4, 2)' is not three"),
        (row("a__b", "", "1")[:-1] + ',"=1+1"\n', "has 16 columns, its header 15"),
        ('"0"' + "," * 1_000_000 + "\n", "has 1000001 columns, its header 15"),
        ('"' + "x" * 200_000 + '",1\n', "no row of a CSV: field larger than field limit (131072)"),
    ],
)
def test_a_row_that_cannot_be_is_a_problem_at_its_line(read, bad: str, message: str) -> None:
    records = read(
        DETAILS
        + row("gpu__time_duration.sum", "ns", "1", "before", "7")
        + bad
        + row("gpu__time_duration.sum", "ns", "1", "after", "8")
    )
    names = [operation.name for operation in only(Operation, records)]
    assert names[0] == "before" and names[-1] == "after"
    (problem,) = only(Problem, records)
    assert problem.position.row == 3
    assert problem.message.startswith(message)


def test_names_are_kept_as_they_are(read) -> None:
    names = ["=cmd|' /C calc'!A0", "\x1b[31mk\x1b[0m", "void k<int, 4>(int*)"]
    operations = only(
        Operation, read(DETAILS + "".join(row("a__b", "", "1", name, name) for name in names))
    )
    assert [operation.name for operation in operations] == names


# Reports.


def report_of(tmp_path: Path, content: bytes) -> list[Record]:
    path = tmp_path / "kernel.ncu-rep"
    path.write_bytes(content)
    return records_of(path)


def test_blocks_share_their_strings(tmp_path: Path) -> None:
    strings: list[str] = []
    first = result(
        "a", {"gpu__time_duration.sum": 1000, "dram__bytes.sum": 64.0}, strings, (2, 3, 4)
    )
    second = result("b", {"gpu__time_duration.sum": 2000.0}, strings)
    operations = only(
        Operation, report_of(tmp_path, report([block([first], strings), block([second], [])]))
    )
    assert [(operation.name, round(operation.time_s * 1e9)) for operation in operations] == [
        ("a", 1000), ("b", 2000),
    ]  # fmt: skip
    assert operations[0].grid == (2, 3, 4)
    assert operations[0].dram_bytes == 64


def test_sources_and_results_of_other_kinds_are_passed_over(tmp_path: Path) -> None:
    strings: list[str] = []
    kernel = result("k", {"gpu__time_duration.sum": 5}, strings)
    ranges = entry(field(1, 3))
    header = (
        *(field(1, 1), field(2, 1), field(5, 4 + 3 + 4 + len(kernel) + len(ranges)), field(7, 1)),
        field(4, b"".join(field(1, text) for text in strings)),
    )
    content = entry(b"".join(header)) + entry(b"sas") + entry(kernel) + ranges
    records = report_of(tmp_path, report([content]))
    assert [operation.name for operation in only(Operation, records)] == ["k"]
    (problem,) = only(Problem, records)
    assert problem.message.startswith("results of ranges, graphs or command lists")


def test_a_compressed_report_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="ncu --import FILE --csv --page raw"):
        report_of(tmp_path, b"\x28\xb5\x2f\xfd" + b"x" * 100)


def test_another_version_is_read_with_a_word(tmp_path: Path) -> None:
    strings: list[str] = []
    kernel = result("k", {"gpu__time_duration.sum": 5}, strings)
    problem, operation = report_of(tmp_path, report([block([kernel], strings)], version=9))
    assert problem.message.startswith("version 9 of the format is not 7")
    assert operation.name == "k"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (report([b"\xff\xff\xff\xff"]), "a part of 4294967295 bytes"),
        (report([entry(field(2, 1) + field(5, 8)) + b"\xff\xff\xff\xff"]), "longer than its block"),
        (report([entry(field(2, 9)) + b""]), "its block ends before it"),
        (report([block([field(13, field(1, 5) + field(2, field(3, 1.0)))], [])]), "string 5 of 0"),
        (report([block([b"\x07"], [])]), "unknown type 7"),
        (report([block([b"\xff" * 20], [])]), "more than 64 bits"),
        (report([block([field(10, 7)], [])]), "a number in the place of a message"),
        (b"NVR\0\x00", "the file ends before it"),
    ],
)
def test_a_hostile_report_is_an_error(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=rf"kernel\.ncu-rep: result \d+: .*{message}"):
        report_of(tmp_path, content)


def test_a_truncated_or_changed_report_ends_in_records_or_an_error(tmp_path: Path) -> None:
    content = (SAMPLES / "ncu_report.ncu-rep").read_bytes()
    path = tmp_path / "changed.ncu-rep"
    for position in range(4, len(content), 13):
        for changed in (
            content[:position],
            content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :],
        ):
            path.write_bytes(changed)
            trace = open_trace(path)
            reader = find_reader(trace)
            try:
                assert reader is None or list(reader.records(trace)) is not None
            except TraceError as error:
                assert "changed.ncu-rep: result" in str(error)
