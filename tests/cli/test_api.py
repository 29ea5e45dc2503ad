"""The Python API, inside environments that have a framework."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

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
                  one.bandwidth_GBps, one.kernels[0]["bound"], both.total_flops,
                  both.device.arch, wrong]))
"""
TILELANG = """
import json, sys
sys.path.insert(0, "tests/examples")
from gemm_tilelang import batched_matmul
from tirlens import Analyzer
fn = batched_matmul.get_tir(2, 256, 512, 1024)
print(json.dumps([Analyzer.analysis(fn, "h100-sxm").total_flops]))
"""


def run(python: Path, code: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server"), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [python, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_tvm(tvm_python: Path) -> None:
    flops, issued, time_s, tflops, bandwidth, bound, both, arch, wrong = run(tvm_python, TVM)
    assert flops == 2 * 1024**3
    assert issued > 3 * 4 * 1024**2
    assert tflops == pytest.approx(flops / time_s / 1e12)
    assert bandwidth > 0 and bound
    assert (both, arch) == (2 * flops, "sm_80")
    assert "PrimFunc" in wrong


def test_tilelang(tilelang_python: Path) -> None:
    assert run(tilelang_python, TILELANG) == [2 * 2 * 256 * 512 * 1024]
