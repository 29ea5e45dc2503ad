"""``tirlens measure``: real kernels on the processor at hand, what it says without a GPU, tables.

``data/ncu.csv`` has the columns, remarks and units that Nsight Compute's command line prints with
``--csv --metrics`` (NVIDIA, "Nsight Compute CLI", Console Output); its figures are made up.
"""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import counters, main
from tirlens.cli.errors import UsageError
from tirlens.cli.measure import sweep_calls
from tirlens.cli.measured_table import COLUMNS, append, check
from tirlens.measured.matching.stored_times import read_stored

NCU_LOG = Path(__file__).parent / "data" / "ncu.csv"
NCU = NCU_LOG.read_text(encoding="utf-8")
SERVER = Path(__file__).parents[2] / "server"
EXAMPLES = Path(__file__).parent.parent / "examples"
CPU = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def scale(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.parallel(n):
        B[i] = A[i] * T.float32(2)

def gather(n, m=64):
    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((n, m), "float32"), I: T.Buffer((n,), "int32"), B: T.Buffer((n, m), "float32")
    ):
        for i, j in T.grid(n, m):
            B[i, j] = A[I[i], j]
    return main
"""


def test_counters_of_a_log() -> None:
    first, second, third = counters.read(NCU_LOG)
    assert first == {
        "dram_read_bytes": 69_206_016,
        "dram_write_bytes": 2_097_152,
        "gpu_time_s": pytest.approx(240e-6),
        "sm_throughput_fraction": pytest.approx(0.6357),
        "registers_per_thread": 168,
    }
    assert second["dram_read_bytes"] == pytest.approx(67.11e6)
    assert second["dram_write_bytes"] == pytest.approx(512e3)
    assert second["gpu_time_s"] == pytest.approx(200e-6)
    assert "dram_read_bytes" not in third


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NCU.replace("Mbyte", "Fbyte"), "'Fbyte'"),
        ('"ID","Kernel Name"\n"0","main"\n', "ncu printed"),
        (NCU.replace('"75"', '"many"'), "many"),
    ],
)
def test_a_log_of_another_form_is_refused(text: str, message: str, tmp_path: Path) -> None:
    log = tmp_path / "ncu.csv"
    log.write_text(text)
    with pytest.raises(ValueError, match=message):
        counters.read(log)


def test_the_launches_of_a_run_are_taken_together() -> None:
    launches = counters.read(NCU_LOG)
    (last,) = counters.last_runs([launches[0], launches[0], launches[1], launches[2]], 1, 2)
    assert last["gpu_time_s"] == pytest.approx(300e-6)
    assert last["registers_per_thread"] == 168
    assert last["sm_throughput_fraction"] == pytest.approx((75 * 2 + 15) / 3 / 100)
    # Of one launch the reads are not known, so of both together neither.
    assert "dram_read_bytes" not in last
    assert counters.last_runs(launches[:2] * 3, 2, 3)[0] == launches[0]
    with pytest.raises(ValueError, match="3 launches of 2 kernels"):
        counters.last_runs(launches, 2, 3)


@pytest.mark.parametrize(
    ("calls", "sweeps", "wanted"),
    [
        (["f(8)"], ["b=1,2"], ["f(8, b=1)", "f(8, b=2)"]),
        (["f(8, b=4)"], ["b=1", "c='x',None"], ["f(8, b=1, c='x')", "f(8, b=1, c=None)"]),
        (["f()", "g()"], ["b=(1, 2),"], ["f(b=(1, 2))", "g(b=(1, 2))"]),
    ],
)
def test_sweeps(calls: list[str], sweeps: list[str], wanted: list[str]) -> None:
    assert list(sweep_calls(calls, sweeps)) == wanted


@pytest.mark.parametrize("sweep", ["b", "b=", "3=1", "b=open('x')", "b=1;2"])
def test_wrong_sweeps(sweep: str) -> None:
    with pytest.raises(UsageError, match="expected NAME"):
        list(sweep_calls(["f()"], [sweep]))
    with pytest.raises(UsageError, match="there is none"):
        list(sweep_calls([], ["b=1"]))


def test_a_table_of_other_columns_is_left_alone(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    refusals: list[Callable[[Path], None]] = [check, lambda path: append(path, [])]
    for refuse in refusals:
        with pytest.raises(UsageError, match="other columns"):
            refuse(table)
    assert table.read_text(encoding="utf-8") == "a,b\n1,2\n"


def test_a_file_of_times_that_is_none_is_left_alone(measure: Any, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(CPU, encoding="utf-8")
    stored = tmp_path / "tirlens-measured.toml"
    stored.write_text("<<<<<<< HEAD\n")
    status, _, err = measure(tmp_path / "kernels.py", "--record")
    assert status == 2
    assert "not a TOML file" in err
    assert stored.read_text() == "<<<<<<< HEAD\n"


def test_a_table_is_checked_without_making_one(tmp_path: Path) -> None:
    check(tmp_path / "table.csv")
    assert not (tmp_path / "table.csv").exists()
    append(tmp_path / "table.csv", [])
    check(tmp_path / "table.csv")


@pytest.fixture
def measure(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command and gives its status, output and messages."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main(["measure", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_file_that_is_no_text_is_refused(measure: Any, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_bytes(b"\xff\xfe")
    status, out, err = measure(path)
    assert (status, out) == (1, "")
    assert f"{path}:1:1: syntax: is not UTF-8" in err


@pytest.mark.slow
def test_kernels_are_timed_on_the_processor(
    measure: Any, tmp_path: Path, each_tvm_python: Path
) -> None:
    path, table = tmp_path / "kernels.py", tmp_path / "table.csv"
    path.write_text(CPU, encoding="utf-8")
    common = (path, "--python", each_tvm_python, "--append", table, "--format", "json")
    status, out, err = measure(*common, "--kernel", "scale", "--bind", "n=100000")
    assert (status, err) == (0, "")
    (small,) = json.loads(out)["measurements"]
    status, out, err = measure(*common, "--call", "gather()", "--sweep", "n=1000,50000")
    assert (status, err) == (0, "")
    few, many = json.loads(out)["measurements"]
    assert (small["bindings"], small["flop"]) == ("n=100000", 100_000)
    assert [few["call"], many["call"]] == ["gather(n=1000)", "gather(n=50000)"]
    for row in (small, few, many):
        assert 0 < row["measured_p10_s"] <= row["measured_s"] <= row["measured_p90_s"]
        assert row["ratio"] == pytest.approx(row["predicted_s"] / row["measured_s"])
        assert row["band_low_s"] < row["predicted_s"] < row["band_high_s"]
        assert "warm caches" in row["method"]
        assert row["dram_read_bytes"] is None
    # Fifty times the rows take longer, on however busy a machine.
    assert many["measured_p10_s"] > 5 * few["measured_p10_s"]
    with table.open(encoding="utf-8", newline="") as file:
        kept = list(csv.DictReader(file))
    assert [row["call"] for row in kept] == ["scale", "gather(n=1000)", "gather(n=50000)"]
    assert list(kept[0]) == list(COLUMNS)
    assert float(kept[0]["measured_s"]) == small["measured_s"]


@pytest.mark.slow
def test_what_is_wanting_is_said_in_a_line(
    measure: Any, tmp_path: Path, tvm_python: Path, tilelang_python: Path
) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(CPU, encoding="utf-8")
    status, out, err = measure(path, "--kernel", "scale", "--python", tvm_python)
    assert (status, out) == (1, "")
    assert err == f"tirlens: {path}: not measured: needs n: give --bind n=SIZE (scale)\n"
    gpu = EXAMPLES / "gemm_tilelang.py"
    status, out, err = measure(gpu, "--python", tilelang_python)
    assert (status, out) == (1, "")
    assert err.startswith(f"tirlens: {gpu}: not measured: there is no GPU here: ")
    assert err.count("\n") == 1


# An access far out of bounds: the process that makes it does not live.
CRASHES = """
from tvm.script import tirx as T

def copy(n, first=0):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            B[i] = A[i + first]
    return main
"""


@pytest.mark.slow
def test_a_kernel_that_crashes_costs_no_other(
    measure: Any, tmp_path: Path, tvm_python: Path
) -> None:
    path, table = tmp_path / "kernels.py", tmp_path / "table.csv"
    path.write_text(CRASHES, encoding="utf-8")
    status, out, err = measure(
        path, "--python", tvm_python, "--call", "copy(n=1000)", "--sweep", f"first=0,{1 << 40},8",
        "--append", table, "--format", "json", "--record",
    )  # fmt: skip
    stored, problems = read_stored(tmp_path / "tirlens-measured.toml")
    assert not problems
    measured = {row["call"]: row for row in json.loads(out)["measurements"]}
    assert {one.call for one in stored} == measured.keys()
    for one in stored:
        row = measured[one.call]
        assert (one.file, one.tool, one.samples) == (path.name, "tirlens measure", row["samples"])
        assert one.time_s == pytest.approx(row["measured_s"], rel=1e-3)
        assert (one.device_id, one.board) == (row["model_device"], row["measured_device"])
    assert status == 1
    assert [row["call"] for row in json.loads(out)["measurements"]] == [
        "copy(n=1000, first=0)",
        "copy(n=1000, first=8)",
    ]
    assert table.read_text(encoding="utf-8").count("copy(") == 2
    assert "crash: the measurement ended with signal 11" in err


@pytest.mark.slow
def test_a_kernel_that_hangs_costs_no_other(measure: Any, tmp_path: Path, tvm_python: Path) -> None:
    path = tmp_path / "kernels.py"
    waits = CRASHES.replace("def copy(n, first=0):", "import time\ndef copy(n, wait=0):").replace(
        "    @T", "    time.sleep(wait)\n    @T"
    )
    path.write_text(waits.replace("i + first", "i"), encoding="utf-8")
    common = (path, "--python", tvm_python, "--call", "copy(1000)", "--format", "json")
    status, out, err = measure(*common, "--sweep", "wait=0,1000,1", "--timeout", 30)
    assert status == 1
    assert len(json.loads(out)["measurements"]) == 2
    assert "timeout: the measurement was stopped after 30 s" in err


# tilelang compiles for a CPU too: all of its half but the GPU's clock runs here.
TILELANG = """
import sys
sys.path.insert(0, {server!r})
import tilelang, torch
import tilelang.language as T
from tirlens_worker.frameworks import detect
from tirlens_worker.frameworks.benchmarking import timing
from tirlens_worker.frameworks.extract import extract

detect()

@T.prim_func
def gather(
    A: T.Tensor((300, 64), "float16"), I: T.Tensor((300,), "int32"), s: T.int32,
    B: T.Tensor((300, 64), "float32"),
):
    with T.Kernel(300) as bx:
        for j in T.serial(64):
            B[bx, j] = T.cast(A[I[bx], j], "float32") * T.cast(s, "float32")

facts = extract(gather, definition="gather", span=None, call="", call_source="")
profiler = timing.compiled_by_tilelang(gather, target="c", execution_backend="cython")
a, index, s, b = timing.tilelang_arguments(profiler, gather, facts, {{"s": 3}})
assert (index.min() >= 0) and (index.max() < 64) and index.unique().numel() > 32
profiler.func(a, index, s, b)
assert torch.equal(b, 3 * a[index.long()].float())
returning = timing.compiled_by_tilelang(
    gather, target="c", execution_backend="cython", out_idx=[-1]
)
given = timing.tilelang_arguments(returning, gather, facts, {{"s": 3}})
assert len(given) == 3
result = returning.func(*given)
assert torch.equal(result, 3 * given[0][given[1].long()].float())
print(profiler.do_bench(input_tensors=[a, index, s, b], quantiles=[0.5], backend="wall") > 0)
print(timing.is_usable())
"""


@pytest.mark.slow
def test_what_tilelang_compiles_gets_fitting_arguments(
    tmp_path: Path, tilelang_python: Path
) -> None:
    script = tmp_path / "gather.py"
    script.write_text(TILELANG.format(server=str(SERVER)), encoding="utf-8")
    done = subprocess.run(
        [tilelang_python, script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.splitlines()[-2:] == ["True", "True"], done.stderr


def test_every_column_is_documented() -> None:
    page = (Path(__file__).parents[2] / "server" / "docs" / "measure.md").read_text("utf-8")
    for name, what in COLUMNS.items():
        assert f"| `{name}` | {what} |\n" in page
