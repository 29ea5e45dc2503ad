"""Each reader recognises its own format and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.measured.reading.reader import all_readers, find_reader, reader_of
from tirlens.measured.reading.trace_file import TraceError, open_trace
from tirlens.measured.records import Operation, Problem

SAMPLES = sorted(
    path for path in (Path(__file__).parent / "samples").iterdir() if path.name != "README.md"
)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_has_one_reader(path: Path) -> None:
    trace = open_trace(path)
    found = [reader for reader in all_readers() if reader.recognises(trace)]
    assert len(found) == 1


@pytest.mark.parametrize("text", ["import tvm\n", "a,b,c\n1,2,3\n", "{}", "[]", "\x00\x01"])
def test_another_file_has_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert find_reader(open_trace(path)) is None
    with pytest.raises(TraceError, match="is no trace that is read"):
        reader_of(open_trace(path))


@pytest.mark.parametrize(
    ("time", "message"),
    [("nan", "not finite"), ("-1", "negative"), ("1e99", "longer than a year"), ("x", "no number")],
)
def test_a_time_that_cannot_be_is_a_problem_at_its_row(
    time: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        f"file,kernel,call,measured_device,measured_s\na.py,k,k(),GPU,1e-3\na.py,k,k(),GPU,{time}\n"
    )
    records = list(reader_of(trace := open_trace(path)).records(trace))
    assert [record.time_s for record in records if isinstance(record, Operation)] == [1e-3]
    (problem,) = [record for record in records if isinstance(record, Problem)]
    assert problem.position.row == 3
    assert message in problem.message


def test_a_table_has_the_counters_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "file,kernel,call,measured_device,measured_s,dram_read_bytes,registers_per_thread\n"
        "a.py,k,k(),GPU,1e-3,2e9,168\na.py,k,k(),GPU,1e-3,-5,\na.py,k,k(),GPU,1e-3,,\n"
    )
    records = list(reader_of(trace := open_trace(path)).records(trace))
    operations = [record for record in records if isinstance(record, Operation)]
    assert [dict(one.counters) for one in operations] == [{"dram_read_bytes": 2e9}, {}, {}]
    assert [one.registers for one in operations] == [168, None, None]
    (problem,) = [record for record in records if isinstance(record, Problem)]
    assert (problem.position.row, "negative" in problem.message) == (3, True)
