"""``tirlens report FILE.py --measured TRACE``: measured kernels beside those of the files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import execute_here
from tirlens.cli.measured.recording import entries_of_traces
from tirlens.cli.measured.workspace_matches import WorkspaceMatches, match_workspace
from tirlens.cli.option_parser import parse
from tirlens.measured.matching.stored_times import read_stored
from tirlens.measured.performance.rates import Performance
from tirlens.measured.performance.report import MeasuredReport
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import MeasuredDevice, Operation, Position

pytestmark = pytest.mark.slow
KERNELS = """
from tvm.script import tirx as T


def scale(rows, columns=128, factor=2):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((rows * columns,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                for k in range(columns // 128):
                    A[i * columns + k * 128 + j] = A[i * columns + k * 128 + j] * T.float32(factor)
    return main


def run():
    scale(64)
    scale(1000)
    scale(1000, columns=1024)


@T.prim_func(s_tir=True)
def two(A: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] + T.float32(1)
    for i in T.thread_binding(16, thread="blockIdx.x"):
        for j in T.thread_binding(256, thread="threadIdx.x"):
            A[i * 256 + j] = A[i * 256 + j] * T.float32(2)
"""
HEADER = "file,kernel,call,measured_device,measured_s\n"


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    return Path("kernels.py")


def launch(name: str, grid: int, block: int, time_s: float, **fields: Any) -> Operation:
    return Operation(
        name, Position("t", 2), device="0", time_s=time_s,
        grid=(grid, 1, 1), block=(block, 1, 1), **fields,
    )  # fmt: skip


def matches(python: Path, *operations: Operation, sources: tuple[str, ...]) -> WorkspaceMatches:
    devices = (MeasuredDevice("0", "NVIDIA A100-SXM4-80GB"),)
    trace = Trace(Path("t"), "made", operations, (), devices, ())
    rows = tuple(Performance(2, one) for one in operations)
    report = MeasuredReport((trace,), rows, rows, sources=tuple(map(Path, sources)))
    return match_workspace(report, parse(["report", "--python", str(python), "--measured", "t"]))


def test_launches_are_matched_with_the_call_that_has_their_grid(
    kernels: Path, tvm_python: Path
) -> None:
    found = matches(
        tvm_python,
        launch("main_kernel", 64, 128, 3e-6),
        launch("main_kernel", 1000, 128, 4e-6),
        launch("main_kernel", 500, 128, 5e-6),
        launch("two_kernel", 32, 128, 6e-6),
        launch("two_kernel_1", 16, 256, 7e-6),
        launch("two_kernel_1", 32, 128, 8e-6),
        launch("ampere_sgemm_128x64", 64, 128, 9e-6),
        sources=("kernels.py",),
    )
    matched = {(one.match.candidate.report.call, one.match.number) for one in found.matched}
    assert matched == {("scale(64)", 0), ("two", 0), ("two", 1)}
    assert {one.device_id for one in found.matched} == {"a100-80-sxm"}
    both = [one for one in found.matched if one.match.candidate.report.name == "two"]
    whole = both[0].match.candidate.report
    assert sum(one.predicted_s or 0 for one in both) == pytest.approx(whole.time_s)
    (ambiguous,) = found.ambiguous
    assert ambiguous.titles == (
        "kernels.py: scale(1000)", "kernels.py: scale(1000, columns=1024)",
    )  # fmt: skip
    reasons = {one.group.time.total: one.reason for one in found.unmatched}
    assert "its grid is 500x1x1, not 64x1x1 as kernels.py: scale(64)" in reasons[5e-6]
    assert "its grid is 32x1x1, not 16x1x1" in reasons[8e-6]
    fitting = {one.group.time.total: one.fitting for one in found.unmatched if one.fitting}
    # Of what no file calls; that the 8 us are of a function without arguments is no matter of size.
    assert fitting == {
        5e-6: ("kernels.py: scale(500)", "kernels.py: scale(500, columns=1024)"),
    }
    assert reasons[9e-6] == "no kernel of the files has this name"


DYNAMIC = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def double(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in T.thread_binding(n // 128, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""


def test_a_size_that_would_fit_is_named_for_a_dynamic_dimension(
    kernels: Path, tvm_python: Path
) -> None:
    Path("dynamic.py").write_text(DYNAMIC)
    rows = tuple(
        Performance(2, one)
        for one in (launch("double_kernel", 32, 128, 1e-6), launch("double_kernel", 64, 128, 2e-6))
    )
    devices = (MeasuredDevice("0", "NVIDIA A100-SXM4-80GB"),)
    trace = Trace(Path("t"), "made", tuple(row.operation for row in rows), (), devices, ())
    report = MeasuredReport((trace,), rows, rows, sources=(Path("dynamic.py"),))
    command = ["report", "--python", str(tvm_python), "--bind", "n=4096", "--measured", "t"]
    found = match_workspace(report, parse(command))
    (matched,) = found.matched
    assert matched.match.candidate.report.bindings == {"n": 4096}
    (unmatched,) = found.unmatched
    assert unmatched.fitting == ("dynamic.py: double with n=8192",)


def test_a_table_is_matched_by_its_calls(
    kernels: Path, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("times.csv").write_text(
        HEADER + 'kernels.py,scale,"scale(1000, columns=1024)",NVIDIA A100-SXM4-80GB,6e-6\n'
        "kernels.py,scale,scale(9),NVIDIA A100-SXM4-80GB,6e-6\n"
    )
    command = ["report", "kernels.py", "times.csv", "--python", str(tvm_python)]
    assert execute_here([*command, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (kernel,) = document["kernels"]
    assert kernel["kernel"]["call"] == "scale(1000, columns=1024)"
    assert kernel["device_id"] == "a100-80-sxm"
    assert kernel["ratio"] == pytest.approx(kernel["predicted_s"] / 6e-6)
    assert kernel["roofline_time_s"] <= kernel["predicted_s"]
    assert "it was called as scale(9)" in document["unmatched"][0]["reason"]
    assert execute_here(command) == 0
    text = capsys.readouterr().out
    assert "Not matched: 1" in text
    assert "50% of the time of all kernels" in text


def test_a_kernel_with_assumed_arguments_cannot_be_excluded(
    kernels: Path, tvm_python: Path
) -> None:
    other = Path("other.py")
    other.write_text(KERNELS.partition("def run")[0].replace("def scale", "def shift"))
    found = matches(
        tvm_python, launch("main_kernel", 64, 128, 3e-6), sources=("kernels.py", "other.py")
    )
    assert not found.matched
    (ambiguous,) = found.ambiguous
    assert ambiguous.titles[0] == "kernels.py: scale(64)"
    assert ambiguous.titles[1].startswith("other.py: shift(")
    assert ambiguous.titles[1].endswith(", arguments assumed")


def test_times_are_recorded_for_the_editor(
    kernels: Path, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = Path("times.csv")
    trace.write_text(
        HEADER + "kernels.py,scale,scale(64),NVIDIA A100-SXM4-80GB,6e-6\n"
        "kernels.py,two,two,NVIDIA A100-SXM4-80GB,8e-6\n"
    )
    os.utime(trace, (2e9, 2e9))
    command = ["report", "kernels.py", "--python", str(tvm_python), "--measured", "times.csv"]
    assert execute_here([*command, "--record"]) == 0
    assert "tirlens-measured.toml: 2 measured times recorded" in capsys.readouterr().err
    found, problems = read_stored(Path("tirlens-measured.toml"))
    assert not problems
    assert [(one.call, one.device_id, one.time_s, one.samples) for one in found] == [
        ("scale(64)", "a100-80-sxm", 6e-6, 1), ("two", "a100-80-sxm", 8e-6, 1),
    ]  # fmt: skip
    assert {one.board for one in found} == {"NVIDIA A100-SXM4-80GB"}
    analyze = ["analyze", "kernels.py", "--python", str(tvm_python), "--call", "scale(64)"]
    analyze += ["--device", "a100", "--format", "json"]

    def stored() -> dict[str, Any]:
        assert execute_here(analyze) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        return kernel["measured"][0]

    assert (stored()["time_s"], stored()["is_edited"]) == (6e-6, False)
    kernels.write_text(KERNELS.replace("factor=2", "factor=3"))
    assert (stored()["is_edited"], stored()["edits"]) == (True, None)
    # The text is later than the trace: nobody knows what was measured.
    os.utime(trace, (1e9, 1e9))
    Path("tirlens-measured.toml").unlink()
    assert execute_here([*command, "--record"]) == 0
    capsys.readouterr()
    assert stored()["is_edited"] is None


def test_the_launches_of_a_function_are_recorded_together_or_not_at_all(
    kernels: Path, tvm_python: Path
) -> None:
    first = launch("two_kernel", 32, 128, 6e-6)
    second = launch("two_kernel_1", 16, 256, 7e-6)
    Path("t").write_text("")
    for operations, time_s in (((first, second), 13e-6), ((first,), None)):
        found = matches(tvm_python, *operations, sources=("kernels.py",))
        sources = {file.path: file.source for file in found.traced}
        entries = [entry for _, entry in entries_of_traces(found.matched, {"t": "t"}, sources)]
        assert [entry.time_s for entry in entries] == pytest.approx([time_s] if time_s else [])


def test_the_page_has_measured_beside_predicted_and_what_is_not_matched(
    kernels: Path, tvm_python: Path
) -> None:
    events = [
        {
            "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": time,
            "args": {"device": 0, "stream": 7, "grid": [grid, 1, 1], "block": [128, 1, 1]},
        }
        for name, grid, start, time in (
            ("main_kernel", 64, 100, 40), ("main_kernel", 1000, 200, 4), ("two_kernel", 32, 300, 6),
            ("ampere_sgemm", 64, 400, 8),
        )
    ]  # fmt: skip
    board = {"id": 0, "name": "NVIDIA A100-SXM4-80GB"}
    Path("step.json").write_text(
        json.dumps({"schemaVersion": 1, "deviceProperties": [board], "traceEvents": events})
    )
    command = ["report", "kernels.py", "--python", str(tvm_python), "--measured", "step.json"]
    assert execute_here([*command, "--html", "page.html"]) == 0
    embedded = re.search('id="data">(.*?)</script>', Path("page.html").read_text(), re.DOTALL)
    assert embedded is not None
    tables = {one["title"]: one for one in json.loads(embedded[1])["tables"]}
    matched = tables["Measured beside predicted"]
    names = [name for name, _, _ in matched["columns"]]
    scale, two = (dict(zip(names, row, strict=True)) for row in matched["rows"])
    assert scale["kernel"] == "kernels.py: scale(64)" and scale["measured"] == ["40 us", 4e-5]
    assert scale["verdict"] == "slower" and scale["matched by"] == "name, grid, block"
    assert scale["predicted"][1] < 4e-5 and scale["roofline"][1] < scale["predicted"][1]
    assert "the trace has no counters" in matched["details"][0]
    assert two["kernel"] == "kernels.py: two, launch 1"
    others = tables["Without a prediction"]
    assert [(row[0], row[-1]) for row in others["rows"]] == [
        ("main_kernel <<<1000x1x1, 128x1x1>>>", "ambiguous"),
        ("ampere_sgemm <<<64x1x1, 128x1x1>>>", "not matched"),
    ]
    assert "scale(1000, columns=1024)" in others["details"][0]
    reachable = [
        dict(zip(("name", "s"), (row[0], row[6]), strict=True)) for row in tables["Kernels"]["rows"]
    ]
    known = {one["name"] for one in reachable if one["s"][1] is not None}
    assert known == {"main_kernel", "two_kernel"}
