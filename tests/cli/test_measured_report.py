"""``tirlens report`` of measured operations: traces by content, formats, problems, exit status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tirlens.cli import execute_here

HEADER = "file,kernel,call,measured_device,measured_s\n"
CSV_COLUMNS = [
    "ID", "Total %", "Bound", "OP Code", "Device Time", "Op-to-Op Gap", "Cores", "DRAM", "DRAM %",
    "FLOPs", "FLOPs %", "Math Fidelity",
]  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "times.csv"
    path.write_text(f"{HEADER}a.py,first,first(),GPU,3e-3\na.py,second,second(),GPU,1e-3\n")
    return path


def test_a_trace_is_recognised_by_its_content(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = trace.rename(trace.with_suffix(".log"))
    assert execute_here(["report", str(renamed)]) == 0
    named = capsys.readouterr().out
    assert execute_here(["report", "--measured", str(renamed)]) == 0
    assert capsys.readouterr().out == named
    assert "first" in named
    assert "75%" in named


def test_csv_has_the_columns_of_the_performance_report(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = trace.with_name("operations.csv")
    assert execute_here(["report", "--csv", str(written), "--format", "csv", str(trace)]) == 0
    text = capsys.readouterr().out
    assert written.read_text() == text
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][: len(CSV_COLUMNS)] == CSV_COLUMNS
    assert rows[1][:5] == ["2", "75.0", "", "first", "3000.0"]


def test_json_has_the_operations(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute_here(["report", "--format", "json", str(trace)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert [row["time_s"] for row in document["operations"]] == [3e-3, 1e-3]
    assert document["operations"][0]["dram_bytes"] is None


def test_a_row_that_is_not_read_is_named_and_is_no_success(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with trace.open("a") as file:
        file.write("a.py,third,third(),GPU,nan\n")
    assert execute_here(["report", "--format", "json", str(trace)]) == 1
    out, err = capsys.readouterr()
    assert f"{trace}:4: measured_s: 'nan' is not finite" in err
    assert json.loads(out)["problems"] == [
        {"file": str(trace), "row": 4, "message": "measured_s: 'nan' is not finite"}
    ]


def test_what_is_no_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n")
    assert execute_here(["report", "--measured", str(path)]) == 2
    assert "is no trace that is read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("id_range", "expected"), [("3-", ["3"]), ("-2", ["2"]), ("2-3", ["2", "3"]), ("3", ["3"])]
)
def test_id_range(
    id_range: str, expected: list[str], trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute_here(["report", "--format", "csv", "--id-range", id_range, str(trace)]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert [row["ID"] for row in rows] == expected


@pytest.mark.parametrize("name", ["=1+1", "\x1b[31mred"])
def test_a_name_is_no_order_for_a_spreadsheet_or_a_terminal(
    name: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace.write_text(f"{HEADER}a.py,{name},k(),GPU,1e-3\n")
    for form in ("csv", "table"):
        assert execute_here(["report", "--no-color", "--format", form, str(trace)]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert form == "table" or ",=1+1" not in out


def test_files_may_stand_before_and_after_the_option(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = trace.with_name("other.csv")
    other.write_text(trace.read_text())
    assert execute_here(["report", str(trace), "--measured", str(other), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {item["file"] for item in document["traces"]} == {str(trace), str(other)}
    assert execute_here(["report"]) == 2
    assert "no file is named" in capsys.readouterr().err


SAMPLES = Path(__file__).parent.parent / "traces" / "samples"
OFT = SAMPLES / "tenstorrent_v2_oft.csv"
DEEPSEEK = SAMPLES / "tenstorrent_blackhole_8_devices_deepseek.csv"


def rows_of(
    capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0
) -> list[dict[str, str]]:
    assert execute_here(["report", "--format", "csv", *arguments]) == status
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_the_last_section_with_operations_is_the_default_and_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute_here(["report", "--format", "json", str(OFT)]) == 0
    out, err = capsys.readouterr()
    operations = json.loads(out)["operations"]
    everything = rows_of(capsys, "--ignore-signposts", str(OFT))
    assert 0 < len(operations) < len(everything)
    assert f"{len(operations)} of {len(everything)} operations" in err
    assert "wormhole-n150 is assumed" in err


def test_signposts_choose_a_section(capsys: pytest.CaptureFixture[str]) -> None:
    start, end = "OftNet module started", "ResNet module started"
    ids = [row["ID"] for row in rows_of(capsys, "--start-signpost", start, str(OFT))]
    between = rows_of(capsys, "--start-signpost", start, "--end-signpost", end, str(OFT))
    assert ids[: len(between)] == [row["ID"] for row in between]
    assert 0 < len(between) < len(ids)
    named = rows_of(capsys, "--signpost", end, str(OFT))
    assert [row["ID"] for row in named] == ids[len(between) :]
    assert between[0]["Op-to-Op Gap"] == ""
    assert sum(float(row["Total %"]) for row in between) == pytest.approx(100)


def test_signposts_stand_between_the_operations(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "--ignore-signposts", "--print-signposts", str(OFT))
    posts = [row for row in rows if row["OP Code"].endswith("(signpost)")]
    assert len(posts) == 8
    numbers = [int(row["ID"]) for row in rows]
    assert numbers == sorted(numbers)


def test_an_unknown_signpost_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute_here(["report", "--signpost", "nothing", str(OFT)]) == 2
    assert "no signpost 'nothing'; there are: OftNet module started" in capsys.readouterr().err


def test_devices_are_merged_or_apart(capsys: pytest.CaptureFixture[str]) -> None:
    merged = rows_of(capsys, str(DEEPSEEK))
    apart = rows_of(capsys, "--no-merge-devices", str(DEEPSEEK))
    assert len(apart) == 8 * len(merged)
    for row in merged:
        times = [float(each["Device Time"]) for each in apart if each["OP Code"] == row["OP Code"]]
        expected = sum(times) / 8 if row["Kind"] == "collective" else max(times)
        assert float(row["Device Time"]) == pytest.approx(expected)


def test_two_hosts_are_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.csv"
    other.write_text(DEEPSEEK.read_text())
    merged = rows_of(capsys, str(DEEPSEEK))
    both = rows_of(capsys, str(DEEPSEEK), str(other))
    assert [row["Device Time"] for row in both] == [row["Device Time"] for row in merged]


def test_a_step_has_the_operations_of_all_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute_here(["report", str(DEEPSEEK)]) == 0
    assert "8 devices" in capsys.readouterr().out


def test_small_operations_are_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "--min-percentage", "10", str(DEEPSEEK))
    assert rows
    assert all(float(row["Total %"]) >= 10 for row in rows)
    assert execute_here(["report", "--min-percentage", "10", str(DEEPSEEK)]) == 0
    assert "below 10% left out" in capsys.readouterr().err


def test_raw_op_codes(capsys: pytest.CaptureFixture[str]) -> None:
    alone = ["report", "--no-summary", "--no-advice", str(DEEPSEEK)]
    assert execute_here([*alone, "--raw-op-codes"]) == 0
    assert "3200 x" not in capsys.readouterr().out
    assert execute_here(alone) == 0
    assert "3200 x" in capsys.readouterr().out


@pytest.mark.parametrize("grouping", ["op", "memory", "category"])
def test_the_summary_is_a_file_too(
    grouping: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "summary.csv"
    options = ["--group-by", grouping, "--summary-file", str(path), "--format", "json"]
    assert execute_here(["report", *options, str(DEEPSEEK)]) == 0
    stacks = json.loads(capsys.readouterr().out)["summary"]["stacks"]
    rows = list(csv.DictReader(path.open()))
    assert [row["Op Code"] for row in rows] == [each["name"] for each in stacks]
    assert sum(float(row["Total % [%]"]) for row in rows) == pytest.approx(100)
    # An earlier result may be replaced.
    assert execute_here(["report", *options, str(DEEPSEEK)]) == 0


def test_the_device_of_the_option_has_the_peaks(capsys: pytest.CaptureFixture[str]) -> None:
    own = rows_of(capsys, str(DEEPSEEK))
    other = rows_of(capsys, "--device", "wormhole-n150", str(DEEPSEEK))
    shares = [float(rows[0]["DRAM %"]) for rows in (other, own)]
    assert shares[0] / shares[1] == pytest.approx(512 / 288)


def test_experts_of_sparse_products(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sparse.csv"
    path.write_text(DEEPSEEK.read_text().replace("MatmulDevice", "SparseMatmulDevice"))
    assert rows_of(capsys, str(path))[0]["FLOPs"] == ""
    with_experts = rows_of(capsys, "--active-experts", "1", str(path))
    assert float(with_experts[0]["FLOPs"]) > 0


@pytest.mark.parametrize("options", [["--color"], ["--no-color"]])
def test_documented_colours(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The option is closer than the environment.
    monkeypatch.setenv("NO_COLOR", "1")
    assert execute_here(["report", *options, "--no-summary", str(DEEPSEEK)]) == 0
    out = capsys.readouterr().out
    red, green = "\x1b[31m", "\x1b[32m"
    assert (red in out and green in out) == (options == ["--color"])
    if options == ["--color"]:
        # The table comes before what the gaps cost.
        line, *_ = (line for line in out.splitlines() if "AllGather" in line)
        # Its gap is longer than 6.5 us.
        assert red in line


def test_cores_of_a_gpu_have_a_block_of_the_grid(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, str(SAMPLES / "nsys_export_2023.4.sqlite"))
    # The RTX 3090 has 82 SMs, and three of the kernels one block.
    assert sorted(int(row["Cores"]) for row in rows if row["Cores"]) == [1, 1, 1, 82]


def test_a_trace_without_operations_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute_here(["report", str(SAMPLES / "ncu_source_page_sass.csv")]) == 0
    assert "No operations." in capsys.readouterr().out


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "\x1b[2J\x1b]0;title\x07", "\u202eback"])
def test_a_signpost_gives_no_orders(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "operations.csv"
    path.write_text(
        "OP CODE,OP TYPE,DEVICE KERNEL DURATION [ns]\n"
        f"a,tt_dnn_device,5\n{name},signpost,\n{name},tt_dnn_device,7\n"
    )
    for form in ("table", "csv"):
        options = ["--print-signposts", "--ignore-signposts", "--no-color", "--format", form]
        assert execute_here(["report", *options, str(path)]) == 0
        assert execute_here(["report", "--no-color", "--format", form, str(path)]) == 0
        assert execute_here(["report", "--signpost", "\x1b[31m", str(path)]) == 2
        out, err = capsys.readouterr()
        assert not set("\x1b\x07\u202e") & set(out + err)
        assert form == "table" or ",=cmd" not in out
