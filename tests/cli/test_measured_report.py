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
