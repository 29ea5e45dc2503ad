"""Tables of which a script has kept some columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.measured.reading.trace import read_trace


def test_the_columns_that_tell_what_the_device_executed(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text(
        "Start (ns),Duration (ns),CorrId,Name\n"
        '1,900000,7,"void at::FillFunctor<int, float>()"\n'
        "930001,700000,7,[CUDA memcpy DtoH]\n"
    )
    trace = read_trace(path)
    assert trace.format_name == "CSV of nsys stats" and not trace.problems
    fill, copy = trace.operations
    assert fill.name == "void at::FillFunctor<int, float>()"
    assert (fill.kind, copy.kind) == ("kernel", "copy")
    assert [one.time_s for one in trace.operations] == pytest.approx([9e-4, 7e-4])
