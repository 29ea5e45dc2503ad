"""``tirlens capture`` runs real programs of the frameworks without a GPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TILELANG = """
import flash_attn
import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def lazy(N, block=128):
    @T.prim_func
    def main(A: T.Tensor((N,), "float16"), B: T.Tensor((N,), "float16")):
        with T.Kernel(T.ceildiv(N, block), threads=block) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + 1
    return main


@tilelang.jit
def eager(A, B, block: int = 64):
    N = T.const("N")
    A: T.Tensor[[N], "float16"]
    B: T.Tensor[[N], "float16"]
    with T.Kernel(T.ceildiv(N, block), threads=block) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i]


@tilelang.autotune(configs=[{"block": 32}, {"block": 64}])
@tilelang.jit(out_idx=[-1])
def tuned(N, block=None):
    @T.prim_func
    def main(A: T.Tensor((N,), "float16"), B: T.Tensor((N,), "float16")):
        with T.Kernel(T.ceildiv(N, block), threads=block) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i]
    return main


def plain(dtype, op):
    M = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((M, 128), dtype)):
        with T.Kernel(M, threads=128) as bx:
            for i in T.Parallel(128):
                A[bx, i] = op(A[bx, i])
    return main


def twice(x):
    return x * 2


class Opaque:
    def __call__(self, x):
        return x


@torch.library.custom_op("tirlens_test::increment", mutates_args=())
def increment(x: torch.Tensor, n: int) -> torch.Tensor:
    return lazy(n)(x)


def save(ctx, inputs, output):
    ctx.n = inputs[1]


def increment_backward(ctx, gradient):
    return lazy(ctx.n, block=256)(gradient), None


increment.register_autograd(increment_backward, setup_context=save)


def main():
    properties = torch.cuda.get_device_properties(0)
    assert (properties.multi_processor_count, torch.cuda.is_available()) == (132, True)
    huge = torch.randn(1 << 34, device="cuda", dtype=torch.float16)
    assert huge.is_cuda and huge.device == torch.device("cuda", 0)
    factor = 3
    kernel = lazy(1 << 34)
    out = kernel(huge)
    assert out.shape == huge.shape and out.dtype == torch.float16
    torch.testing.assert_close(out, huge)
    assert torch.allclose(out, huge) and (out - huge).abs().max().item() < 1e-3
    kernel.get_profiler().do_bench(warmup=500)
    small = torch.ones(256, device="cuda", dtype=torch.float16)
    eager(small, torch.empty_like(small))
    tuned(256)(small)
    leaf = torch.ones(4096, device="cuda", dtype=torch.float16, requires_grad=True)
    torch.ops.tirlens_test.increment(increment(leaf, 4096), n=4096).sum().backward()
    assert leaf.grad.shape == leaf.shape
    gradient = torch.ones(4096, device="cuda", dtype=torch.float16)
    torch.autograd.backward([leaf * 2], [gradient])
    (found,) = torch.autograd.grad([leaf * 2], [leaf], grad_outputs=[gradient])
    assert found.shape == leaf.shape
    lengths = torch.tensor([30, 34], device="cuda", dtype=torch.int32)
    generator = torch.Generator(device="cuda").manual_seed(0)
    drawn = torch.randn((sum(lengths), 128), generator=generator, device="cuda")
    assert drawn.shape == (64, 128) and drawn.is_cuda and generator.device.type == "cpu"
    assert torch.empty((lengths.max(), 2)).shape == torch.empty_like(drawn[:34, :2]).shape
    graph = torch.cuda.CUDAGraph()
    in_place = tilelang.compile(plain(T.float16, twice))
    with torch.cuda.graph(graph):
        in_place(torch.empty(96, 128, device="cuda", dtype=torch.float16))
    for _ in range(5):
        graph.replay()
    rows = torch.empty(8, 128, dtype=torch.float16)
    tilelang.compile(plain("float16", Opaque()))(rows)
    tilelang.compile(plain("float16", lambda x: x * factor + factor))(rows)
    flash_attn.flash_attn_func(huge, huge, huge)
    raise RuntimeError("after the launches")


main()
"""

CASES = """
import pytest
import tilelang
import tilelang.language as T
import torch
from tilelang.utils.target import determine_target


def factory(N):
    @T.prim_func
    def main(A: T.Tensor((N,), "float16")):
        with T.Kernel(N // 128, threads=128) as bx:
            for i in T.Parallel(128):
                A[bx * 128 + i] = 0
    return main


@pytest.mark.parametrize("n", [1024, 2048])
def test_launches(n):
    x = torch.empty(n, device="cuda", dtype=torch.float16)
    tilelang.compile(factory(n))(x)
    assert n == 1024


def test_nothing():
    pass


@pytest.mark.skip
def test_skipped():
    pass
"""

TVM = """
import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T


def scale(rows, factor=2):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((rows * 128,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                A[i * 128 + j] = A[i * 128 + j] * T.float32(factor)
    return main


@T.prim_func(s_tir=True)
def dynamic(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in T.thread_binding(n // 128, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] + T.float32(1)


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((1024,), "float32")):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                A[i * 128 + j] = A[i * 128 + j] + T.float32(1)


if __name__ == "__main__":
    device = tvm.cuda(0)
    assert device.exist and device.compute_version == "8.0"
    for rows in (64, 256):
        built = tvm.compile(scale(rows), target="cuda")
        array = tvm.runtime.tensor(np.ones(rows * 128, "float32"), device)
        for _ in range(3):
            built(array)
        np.testing.assert_allclose(array.numpy(), 2 * np.ones(rows * 128))
    for n in (1024, 1 << 30):
        tvm.compile(dynamic, target="cuda")(tvm.runtime.empty((n,), "float32", device))
    module = tvm.build(Module, target="cuda")
    module.time_evaluator("add", device)(tvm.runtime.empty((1024,), "float32", device))
"""


def run(folder: Path, *arguments: str, paths: tuple[Path, ...] = ()) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of a command in `folder`."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        # Those of the run that this test is part of.
        "PYTEST_ADDOPTS": "",
    }
    command = [sys.executable, "-m", "tirlens", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


def calls_of(folder: Path) -> dict[tuple[str, str | None], dict[str, Any]]:
    """The calls of the capture file by function and text."""
    data = json.loads((folder / "tirlens-captured.json").read_text())
    return {
        (kernel["function"], call["call"]): call
        for kernel in data["kernels"]
        for call in kernel["calls"]
    }


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_program_that_raises_after_its_launches(tmp_path: Path, tilelang_python: Path) -> None:
    (tmp_path / "bench.py").write_text(TILELANG)
    status, output, error = run(
        tmp_path, "capture", "--python", str(tilelang_python), "--", "python", "bench.py"
    )
    assert (status, output.splitlines()[-1:]) == (0, ["tirlens-captured.json"]), error
    assert "RuntimeError: after the launches" in error
    assert "the program has ended with status 1; what it launched before is recorded" in error
    assert "not run: flash_attn is not installed" in error
    assert "bench.py: plain: op is a Opaque (1 launches)" in error
    calls = calls_of(tmp_path)
    (closure,) = (text for _, text in calls if text and "lambda" in text)
    meta = "torch.empty((256,), dtype=torch.float16, device='meta')"
    assert {key: call["launches"] for key, call in calls.items()} == {
        ("lazy", f"lazy({1 << 34})"): 2,
        ("lazy", "lazy(4096)"): 2,
        ("lazy", "lazy(4096, block=256)"): 2,
        ("eager", f"eager({meta}, {meta})"): 1,
        ("tuned", "tuned(256, block=32)"): 1,
        ("plain", "plain(dtype='float16', op=twice)"): 5,
        ("plain", closure): 1,
        ("plain", None): 1,
    }
    assert calls["tuned", "tuned(256, block=32)"]["configurations"] == 2
    assert calls["plain", "plain(dtype='float16', op=twice)"]["sizes"] == {"m": 96}
    first = line_of(TILELANG, "out = kernel(huge)")
    assert f"bench.py:{first}" in calls["lazy", f"lazy({1 << 34})"]["at"]
    assert str(tmp_path) not in (tmp_path / "tirlens-captured.json").read_text()
    # The calls are those of the kernels from now on, weighed by launches.
    arguments = ("analyze", "--python", str(tilelang_python), "--format", "json", "--no-lower")
    _, output, error = run(tmp_path, *arguments, "tirlens-captured.json")
    data = json.loads(output)
    step = data["step"]
    # The first configuration of a tuner is no call, and opaque arguments are none.
    assert step["launches"] == 13
    assert step["others"]["tuned (one of 2 configurations)"] == 1
    assert step["others"]["plain (arguments not known)"] == 1
    assert step["others"]["torch.randn"] >= 1
    totals = [kernel["time_s"] for kernel in step["kernels"]]
    assert totals == sorted(totals, reverse=True)
    assert step["time_s"] == pytest.approx(sum(totals))
    assert sum(kernel["share"] for kernel in step["kernels"]) == pytest.approx(1)
    assert {kernel["call_source"] for kernel in data["kernels"]} == {"captured"}
    assert {
        (kernel["flop"], kernel["launches"], kernel["bindings"]["m"])
        for kernel in data["kernels"]
        if kernel["definition"] == "plain"
    } == {(96 * 128, 5, 96), (2 * 8 * 128, 1, 8)}
    assert "1 launches have arguments that cannot be written: plain" in error


def test_the_cases_of_pytest(tmp_path: Path, tilelang_python: Path) -> None:
    # The environment of the framework has no pytest: that of the tests is lent to it.
    lent = tmp_path / "lent"
    lent.mkdir()
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.submodule_search_locations
        (lent / name).symlink_to(spec.submodule_search_locations[0])
    module = importlib.util.find_spec("py")
    assert module is not None and module.origin is not None
    (lent / "py.py").symlink_to(module.origin)
    (tmp_path / "test_cases.py").write_text(CASES)
    arguments = ("capture", "--python", str(tilelang_python), "--quiet", "--", "pytest", "-q")
    status, output, error = run(tmp_path, *arguments, "test_cases.py", paths=(lent,))
    assert (status, output) == (0, "tirlens-captured.json\n"), error
    assert "2 of 3 cases launched a kernel; none: test_cases.py::test_nothing" in error
    calls = calls_of(tmp_path)
    assert set(calls) == {("factory", "factory(N=1024)"), ("factory", "factory(N=2048)")}
    place = f"test_cases.py:{line_of(CASES, 'tilelang.compile(factory(n))')}"
    assert {tuple(call["at"]) for call in calls.values()} == {(place,)}


def test_tvm(tmp_path: Path, each_tvm_python: Path) -> None:
    (tmp_path / "kernels.py").write_text(TVM)
    status, _, error = run(
        tmp_path, "capture", "--python", str(each_tvm_python), "--device", "a100-80-sxm", "--",
        "python", "kernels.py",
    )  # fmt: skip
    assert status == 0, error
    data = json.loads((tmp_path / "tirlens-captured.json").read_text())
    found = {
        (kernel["function"], kernel["kernel"], call["call"], *call.get("sizes", {}).values()): call[
            "launches"
        ]
        for kernel in data["kernels"]
        for call in kernel["calls"]
    }
    assert found == {
        ("Module", "add", "Module"): 1,
        ("dynamic", "dynamic", "dynamic", 1024): 1,
        ("dynamic", "dynamic", "dynamic", 1 << 30): 1,
        ("scale", "main", "scale(rows=64)"): 3,
        ("scale", "main", "scale(rows=256)"): 3,
    }
    _, output, error = run(
        tmp_path, "report", "--by-launches", "--python", str(each_tvm_python), "kernels.py"
    )
    rows = [line.split() for line in output.splitlines()]
    assert rows[2][:3] == ["dynamic", "kernels.py:18", "2"], output + error
    assert ["all", "9"] in [row[:2] for row in rows]


def test_a_command_that_launches_nothing(tmp_path: Path, tvm_python: Path) -> None:
    arguments = ("capture", "--python", str(tvm_python), "--")
    status, output, error = run(tmp_path, *arguments, "python", "-c", "print(1)")
    assert (status, output) == (1, "1\n")
    assert "no launch of a kernel was recorded" in error
    status, _, error = run(tmp_path, *arguments, "python", "-I", "-c", "")
    assert "has started no Python that reads PYTHONPATH" in error
    assert not (tmp_path / "tirlens-captured.json").exists()
