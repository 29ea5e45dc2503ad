"""The operations of Tenstorrent's profiler: versions, shapes, work, and cells that cannot be."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tirlens.measured.performance.tensix import setting
from tirlens.measured.readers.tenstorrent import READER
from tirlens.measured.reading.trace_file import open_trace
from tirlens.measured.records import MeasuredDevice, Operation, Problem, Record, Signpost

TENSORS = ("INPUT_0", "INPUT_1", "OUTPUT_0")
SIZES = [f"{name}_{axis}" for name in TENSORS for axis in "WZYX"]
PRODUCT = {
    "OP CODE": "MatmulDeviceOperation",
    "OP TYPE": "tt_dnn_device",
    "DEVICE ID": "0",
    "MATH FIDELITY": "HiFi2",
    "CORE COUNT": "64",
    "OP TO OP LATENCY [ns]": "700",
    "DEVICE KERNEL DURATION [ns]": "10000",
    **dict(zip(SIZES, map(str, (1, 1, 32, 64, 1, 1, 64, 128, 1, 1, 32, 128)), strict=True)),
    "INPUT_0_DATATYPE": "BFLOAT16",
    "INPUT_1_DATATYPE": "BFLOAT8_B",
    "OUTPUT_0_DATATYPE": "BFLOAT16",
    "INPUT_0_MEMORY": "DEV_0_DRAM_INTERLEAVED",
    "INPUT_1_MEMORY": "DEV_0_DRAM_INTERLEAVED",
    "OUTPUT_0_MEMORY": "DEV_0_L1_INTERLEAVED",
}


def read(tmp_path: Path, *rows: dict[str, str], padded: bool = False) -> list[Record]:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    names = [f"{name}_PAD[LOGICAL]" if padded and name in SIZES else name for name in columns]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows([[row.get(name, "") for name in columns] for row in rows])
    return read_text(tmp_path, text.getvalue())


def read_text(tmp_path: Path, text: str) -> list[Record]:
    path = tmp_path / "operations.csv"
    path.write_text(text, newline="")
    trace = open_trace(path)
    assert READER.recognises(trace)
    return list(READER.records(trace))


def only(records: list[Record]) -> Operation:
    (operation,) = [record for record in records if isinstance(record, Operation)]
    return operation


def problems(records: list[Record]) -> list[str]:
    return [
        f"{record.position.row}: {record.message}"
        for record in records
        if isinstance(record, Problem)
    ]


@pytest.mark.parametrize("padded", [False, True])
def test_a_product_of_each_version(padded: bool, tmp_path: Path) -> None:
    row = {**PRODUCT}
    if padded:
        row |= {"INPUT_0_Y": "32[19]", **{name: f"{row[name]}[{row[name]}]" for name in SIZES[3:]}}
    operation = only(read(tmp_path, row, padded=padded))
    assert operation.flop == 2 * 32 * 64 * 128
    # The result is in L1, and an element of the block float counts as a byte.
    assert operation.dram_bytes == 2 * 32 * 64 + 64 * 128
    assert operation.time_s == pytest.approx(10e-6)
    assert operation.gap_s == pytest.approx(0.7e-6)
    assert operation.attributes["description"] == "32 x 64 x 128"
    assert operation.attributes["math fidelity"] == "HiFi2 BF16 x BFP8 => BF16"
    assert operation.inputs[0].shape == (1, 1, 32, 64)
    assert operation.inputs[0].logical_shape == ((1, 1, 19, 64) if padded else None)


def test_batches_multiply(tmp_path: Path) -> None:
    operation = only(read(tmp_path, PRODUCT | {"INPUT_0_Z": "4", "INPUT_1_Z": "4"}))
    assert operation.flop == 4 * 2 * 32 * 64 * 128
    assert operation.attributes["description"] == "b={4} x 32 x 64 x 128"


@pytest.mark.parametrize(("architecture", "cores"), [("wormhole_b0", 12), ("blackhole", 8)])
def test_a_product_that_is_sharded_in_dram_has_a_core_for_each_port(
    architecture: str, cores: int, tmp_path: Path
) -> None:
    config = "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=2)"
    row = PRODUCT | {"ATTRIBUTES": config, "DEVICE ARCH": architecture}
    assert only(read(tmp_path, row)).cores == cores


@pytest.mark.parametrize(
    ("attributes", "flop"),
    [
        ("{'nnz': '3'; 'is_input_a_sparse': 'false'}", 3 * 2 * 32 * 64 * 128),
        ("{'nnz': 'std::nullopt'}", None),
        ("", None),
        ("{'nnz': '" + "9" * 400 + "'}", None),
    ],
)
def test_a_sparse_product_has_the_batches_that_are_not_zero(
    attributes: str, flop: int | None, tmp_path: Path
) -> None:
    row = PRODUCT | {"OP CODE": "SparseMatmulDeviceOperation", "ATTRIBUTES": attributes}
    assert only(read(tmp_path, row)).flop == flop


def test_a_convolution_is_a_product_of_its_windows(tmp_path: Path) -> None:
    attributes = (
        "{'enable_act_double_buffer': 'true'; 'sliding_window_config': 'SlidingWindowConfig("
        "window_hw=(3;5); stride_hw=(1;1))'; 'p': 'P(per_core_out_matrix_height_ntile=7)'; "
        "'block_config': 'B(act_block_h_ntiles=4;x=1)'}"
    )
    row = PRODUCT | {"OP CODE": "Conv2dDeviceOperation", "ATTRIBUTES": attributes}
    operation = only(read(tmp_path, row))
    assert operation.flop == 2 * 32 * (64 * 15) * 128
    assert operation.attributes["description"] == "32 x 960 x 128 [ABH=7|4 ADB]"
    assert operation.dram_bytes is None
    unknown = only(read(tmp_path, row | {"ATTRIBUTES": ""}))
    assert unknown.flop is None
    assert unknown.attributes["description"].startswith("unknown shape")


@pytest.mark.parametrize(
    "cell", ["", "x", "-1", "0", "1e300", "9" * 400, "nan", "3.5", "99999999999"]
)
def test_a_size_that_cannot_be_leaves_the_work_unknown(cell: str, tmp_path: Path) -> None:
    operation = only(read(tmp_path, PRODUCT | {"INPUT_0_Y": cell}))
    assert operation.flop is None
    assert operation.dram_bytes is None
    assert operation.time_s == pytest.approx(10e-6)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("DEVICE KERNEL DURATION [ns]", "nan", "is not finite"),
        ("DEVICE KERNEL DURATION [ns]", "-5", "is negative"),
        ("DEVICE KERNEL DURATION [ns]", "=1+1", "is no number"),
        ("OP TO OP LATENCY [ns]", "inf", "is not finite"),
        ("OP TO OP LATENCY [ns]", "-5000000", "of another clock"),
        ("CORE COUNT", "2.5", "is no number of cores"),
        ("CORE COUNT", "1e12", "is no number of cores"),
        ("DEVICE ID", "1.5", "names no device"),
        ("OP CODE", "", "OP CODE is empty"),
    ],
)
def test_a_cell_that_cannot_be_is_a_problem_at_its_row(
    column: str, cell: str, message: str, tmp_path: Path
) -> None:
    records = read(tmp_path, PRODUCT, PRODUCT | {column: cell}, PRODUCT)
    (found,) = problems(records)
    assert found.startswith("3: ")
    assert message in found
    times = [record.time_s for record in records if isinstance(record, Operation)]
    assert times[0] == times[-1] == pytest.approx(10e-6)
    if message in ("is not finite", "is negative", "is no number") and "DURATION" in column:
        assert times[1] is None


def test_a_truncated_file_keeps_what_it_has(tmp_path: Path) -> None:
    records = read(tmp_path, PRODUCT, PRODUCT)
    text = (tmp_path / "operations.csv").read_text()
    cut = read_text(tmp_path, text[: text.rindex("10000") + 3])
    assert len(problems(records)) == 0
    assert len(problems(cut)) == 1
    assert "of 25 columns" in problems(cut)[0]
    assert sum(isinstance(record, Operation) for record in cut) == 2


def test_a_field_that_never_ends_is_a_problem(tmp_path: Path) -> None:
    header = "OP CODE,OP TYPE,DEVICE KERNEL DURATION [ns]\n"
    records = read_text(tmp_path, header + '"' + "x" * 200_000 + "\na,tt_dnn_device,5\n")
    assert "no row of a CSV" in problems(records)[0]
    assert only(records).name == "a"


def test_a_million_columns(tmp_path: Path) -> None:
    more = "," * 1_000_000
    header = f"OP CODE,OP TYPE,DEVICE KERNEL DURATION [ns]{more}\n"
    operation = only(read_text(tmp_path, f"{header}a,tt_dnn_device,5{more}\n"))
    assert operation.time_s == pytest.approx(5e-9)


def test_kinds_of_rows(tmp_path: Path) -> None:
    records = read(
        tmp_path,
        PRODUCT | {"DEVICE ARCH": "blackhole", "AVAILABLE WORKER CORE COUNT": "110"},
        {"OP CODE": "warm", "OP TYPE": "signpost", "HOST START TS": "12"},
        PRODUCT | {"OP CODE": "AllGatherAsyncDeviceOperation"},
        PRODUCT | {"OP CODE": "aten::add (torch)", "HOST DURATION [ns]": "2000"},
        PRODUCT | {"OP TYPE": "python_fallback"},
    )
    kinds = [record.kind for record in records if isinstance(record, Operation)]
    assert kinds == ["kernel", "collective", "host", "host"]
    host = next(each for each in records if isinstance(each, Operation) and each.kind == "host")
    assert host.time_s is None
    assert host.host_time_s == pytest.approx(2e-6)
    (post,) = [record for record in records if isinstance(record, Signpost)]
    assert (post.name, post.order, post.position.row) == ("warm", 12.0, 3)
    devices = [record for record in records if isinstance(record, MeasuredDevice)]
    assert devices[0] == MeasuredDevice("0", architecture="blackhole", cores=110)
    assert devices[1].is_assumed


def test_begins_are_of_the_clock_of_the_device(tmp_path: Path) -> None:
    def row(start: int) -> dict[str, str]:
        return PRODUCT | {
            "DEVICE FW START CYCLE": str(start),
            "DEVICE FW END CYCLE": str(start + 13500),
            "DEVICE FW DURATION [ns]": "10000",
        }

    records = read(tmp_path, row(10**12), row(10**12 + 27000))
    starts = [record.start_s for record in records if isinstance(record, Operation)]
    assert starts == [0.0, pytest.approx(20e-6)]


@pytest.mark.parametrize(
    ("attributes", "name", "value"),
    [
        ("{'a': 'x'; 'b': 'true'}", "b", "true"),
        ("{'c': 'C(a=1;b=(2;3);d=4)'}", "b", "(2;3)"),
        ("{'c_': 'C(padding=((1; 1); (2; 2)); s=1)'}", "padding", "((1; 1); (2; 2))"),
        ("{'enable_': 'true'}", "enable", "true"),
        ("{'my_b': 'true'}", "b", None),
        ("b=", "b", None),
        ("b=(((((", "b", "((((("),
        ("", "b", None),
    ],
)
def test_setting(attributes: str, name: str, value: str | None) -> None:
    assert setting(attributes, name) == value


def test_counters_and_the_number_of_the_call(tmp_path: Path) -> None:
    row = PRODUCT | {"PM IDEAL [ns]": "1500", "PM FPU UTIL (%)": "61.7", "PM REQ I BW": "[1]"}
    operation = only(read(tmp_path, row | {"GLOBAL CALL COUNT": "1024.0"}))
    assert operation.counters == {"PM IDEAL [ns]": pytest.approx(1.5e-6), "PM FPU UTIL (%)": 61.7}
    assert operation.call_number == 1024
    assert operation.start_s is None


def test_equal_rows_share_their_words(tmp_path: Path) -> None:
    records = read(tmp_path, PRODUCT, PRODUCT)
    first, second = (record for record in records if isinstance(record, Operation))
    assert first.attributes is second.attributes
    assert first.inputs is second.inputs
