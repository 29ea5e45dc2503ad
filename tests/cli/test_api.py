"""The Python API, inside environments that have a framework."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.environments import environment

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent

TVM = """
import json, sys, types
sys.path.insert(0, "tests/examples")
from matmul_tvm import matmul_naive
import tvm
from tirlens import Analyzer
one = Analyzer.analysis(matmul_naive, "h100-sxm")
gpu = types.SimpleNamespace(compute_capability="8.0")
both = Analyzer.analysis(tvm.IRModule({"a": matmul_naive, "b": matmul_naive}), gpu)
try:
    Analyzer.analysis(3, "h100-sxm")
    wrong = None
except TypeError as error:
    wrong = str(error)
print(json.dumps([one.total_flops, one.total_global_bytes, one.estimated_time, one.tflops,
                  one.bandwidth_GBps, one.dram_GBps, one.kernels[0]["bound"], both.total_flops,
                  both.device.arch, wrong, str(one)]))
"""
TILELANG = """
import json, sys
sys.path.insert(0, "tests/examples")
from gemm_tilelang import batched_matmul
from tirlens import Analyzer
fn = batched_matmul.get_tir(2, 256, 512, 1024)
found = [Analyzer.analysis(fn, "h100-sxm", lower=lower) for lower in (True, False)]
print(json.dumps([[one.total_flops, one.kernels[0]["launch_facts"]] for one in found]))
"""


SCHEDULE = """
import json
import tvm
from tvm import te
from tirlens import Analyzer
tir = getattr(tvm, "s_tir", tvm.tir if hasattr(tvm, "tir") else None)
A = te.placeholder((1024, 1024), name="A")
B = te.compute((1024, 1024), lambda i, j: A[i, j] * 2.0, name="B")
schedule = tir.Schedule(te.create_prim_func([A, B]))
before = Analyzer.analysis(schedule, "h100-sxm")
i, j = schedule.get_loops(schedule.get_sblock("B"))
schedule.bind(i, "blockIdx.x")
schedule.bind(j, "threadIdx.x")
after = Analyzer.analysis(schedule, "h100-sxm")
print(json.dumps([[one.total_flops, one.estimated_time] for one in (before, after)]))
"""


TIRX = """
import json, sys
sys.path.insert(0, "tests/facts/kernels")
from tirx_guide import add_one, scale_4096
from tirlens import Analyzer
found = [Analyzer.analysis(add_one, "b200", {"n": 1 << 20}), Analyzer.analysis(scale_4096, "b200")]
print(json.dumps([[one.total_flops, one.kernels[0]["status"]] for one in found]))
"""


def run(python: Path, code: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server"), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [python, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_tirx() -> None:
    assert run(environment("tirx-0.1.0a4"), TIRX) == [[1 << 20, "ok"], [4096, "ok"]]


def test_tvm(tvm_python: Path) -> None:
    found = run(tvm_python, TVM)
    flops, issued, time_s, tflops, bandwidth, dram, bound, both, arch, wrong, table = found
    assert flops == 2 * 1024**3
    assert issued > 3 * 4 * 1024**2
    assert tflops == pytest.approx(flops / time_s / 1e12)
    assert bandwidth == pytest.approx(issued / time_s / 1e9)
    assert 0 < dram < bandwidth and bound
    assert "on NVIDIA H100 SXM5 80 GB" in table and "2.15 GFLOP" in table and bound.upper() in table
    assert (both, arch) == (2 * flops, "sm_80")
    assert "PrimFunc" in wrong


def test_tilelang(tilelang_python: Path) -> None:
    flop = 2 * 2 * 256 * 512 * 1024
    assert run(tilelang_python, TILELANG) == [[flop, "lowered"], [flop, "source"]]


UNBOUND = """
from tvm.script import tirx as T


@T.prim_func
def scale(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] * T.float32(2)
"""
UNBOUND_CALL = """
import json, sys
sys.path.insert(0, FOLDER)
from unbound import scale
from tirlens import Analyzer, UnboundSizesError

try:
    Analyzer.analysis(scale, "h100-sxm")
except UnboundSizesError as error:
    message = str(error)
bound = Analyzer.analysis(scale, "h100-sxm", bindings={"n": 1024})
print(json.dumps([message, bound.total_flops]))
"""


def test_unbound_sizes_say_what_to_bind(tvm_python: Path, tmp_path: Path) -> None:
    (tmp_path / "unbound.py").write_text(UNBOUND)
    message, flop = run(tvm_python, UNBOUND_CALL.replace("FOLDER", repr(str(tmp_path))))
    assert message == (
        "n of scale has no value; bind, for example, "
        'Analyzer.analysis(fn, device, bindings={"n": 4096})'
    )
    assert flop == 1024


def test_a_schedule_is_analysed_as_it_is(tvm_python: Path) -> None:
    before, after = run(tvm_python, SCHEDULE)
    assert before[0] == after[0] == 1024**2
    assert before[1] != after[1], "the loops are bound to blocks and threads"


LINES = """
import json, sys
sys.path.insert(0, "tests/examples")
IMPORT
from tirlens import Analyzer
kernel = Analyzer.analysis(FUNCTION, "h100-sxm").kernels[0]

def rows(entries):
    for entry in entries:
        yield entry["kind"], entry["line"]
        yield from rows(entry["children"])

messages = [caveat["message"] for caveat in kernel["caveats"]]
print(json.dumps([kernel["file"], kernel["line"], list(rows(kernel["loops"])), messages]))
"""


def _lines(python: Path, imported: str, function: str) -> Any:
    file, *rest = run(python, LINES.replace("IMPORT", imported).replace("FUNCTION", function))
    return [Path(file).name, *rest]


def _line_of(name: str, text: str) -> int:
    lines = (ROOT / "tests/examples" / name).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_figures_have_the_lines_of_the_file(tvm_python: Path, tilelang_python: Path) -> None:
    name = "matmul_tvm.py"
    file, line, rows, caveats = _lines(
        tvm_python, "from matmul_tvm import matmul_naive", "matmul_naive"
    )
    assert (file, line, caveats) == (name, _line_of(name, "def matmul_naive"), [])
    assert ["serial", _line_of(name, "for k in range(1024)")] in rows

    name = "gemm_tilelang.py"
    call = "batched_matmul.get_tir(2, 256, 512, 1024)"
    file, line, rows, _ = _lines(tilelang_python, "from gemm_tilelang import batched_matmul", call)
    assert (file, line) == (name, _line_of(name, "@T.prim_func") + 1)
    assert ["pipelined", _line_of(name, "num_stages=num_stages")] in rows


def test_a_function_without_lines_says_so() -> None:
    python = environment("tvm-0.25.0.post1")
    *_, caveats = _lines(python, "from matmul_tvm import matmul_naive", "matmul_naive")
    assert any("no source lines" in message for message in caveats)
