"""Machine code of real kernels by real tools, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import execute_here

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def lower(
    cuda_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Runs ``tirlens lower``, or another command, with NVIDIA's tools and a cache of its own."""
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(*arguments: object, command: str = "lower") -> tuple[int, str, str]:
        status = execute_here([command, *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_kernel_of_tvm(lower: Any, tvm_python: Path, tmp_path: Path) -> None:
    path = EXAMPLES / "matmul_tvm.py"
    options = (path, "--kernel", "matmul_tiled", "--python", tvm_python, "--device", "a100-80-sxm")
    status, out, err = lower(*options, "--emit", "sass", "--format", "json")
    assert status == 0, err
    (kernel,) = json.loads(out)["kernels"]
    (compiled,) = kernel["compiled"]
    assert kernel["registers_per_thread"] == compiled["registers_per_thread"] > 8
    assert (compiled["stack_bytes"], compiled["spill_store_bytes"]) == (0, 0)
    # Two tiles of 32 x 32 floats.
    assert compiled["static_shared_bytes"] == 2 * 32 * 32 * 4
    sass = kernel["texts"]["sass"]
    text = sass["text"].splitlines()
    assert len(text) == len(sass["lines"])
    assert sum("FFMA" in line for line in text) >= 32 and any("BAR.SYNC" in line for line in text)
    # What was made of a source is stored, and is the same when it is asked for again.
    (stored,) = tmp_path.rglob("machine-code/*.json")
    before = stored.stat().st_mtime_ns
    assert json.loads(lower(*options, "--emit", "sass", "--format", "json")[1])["kernels"] == [
        kernel
    ]
    assert stored.stat().st_mtime_ns == before


def test_lines_of_a_product_of_tilelang(lower: Any, tilelang_python: Path) -> None:
    path = EXAMPLES / "gemm_tilelang.py"
    options = ("--kernel", "matmul", "--python", tilelang_python, "--device", "h100-sxm")
    status, out, err = lower(path, *options, "--sass")
    assert status == 0, err
    source = path.read_text().splitlines()
    product = 1 + next(n for n, line in enumerate(source) if "T.gemm(" in line)
    row, *products = [line for line in out.splitlines() if "HGMMA" in line]
    assert products and all(line.startswith(f"{product:>5} | [B") for line in products)
    # What the line became, above the instructions.
    assert row.startswith(f"{product:>5} | // {product:>4}")
    assert f"HGMMA.64x128x16.F32 x{len(products)}, WARPGROUP.DEPBAR" in row
    assert any("UTMALDG.2D x" in line and "(TMA load)" in line for line in out.splitlines())
    assert "registers a thread" in err and "stack frame 0 bytes" in err


def test_the_model_uses_what_the_compiler_made(
    lower: Any, tilelang_python: Path, tmp_path: Path
) -> None:
    """An array that is indexed by data is in local memory; the estimate has it in registers."""
    path = tmp_path / "local.py"
    path.write_text(LOCAL_ARRAY)
    options = (path, "--python", tilelang_python, "--device", "a100-80-sxm", "--format", "json")

    def kernel(*more: str) -> Any:
        status, out, err = lower(*options, *more, command="analyze")
        assert status == 0, err
        (found,) = json.loads(out)["kernels"]
        return found

    compiled, again, estimated = kernel(), kernel(), kernel("--no-compile")
    assert (compiled["launch_facts"], estimated["launch_facts"]) == ("compiled", "lowered")
    assert compiled["stack_bytes"] == 64 * 4 and compiled["spill_bytes"] == 0
    assert compiled["registers_per_thread"] > 16
    assert again == compiled
    assert compiled["time_s"] > estimated["time_s"]
    assert any("in local memory (ptxas)" in one["message"] for one in compiled["caveats"])
    moved = dict(local_memory(compiled["loops"]))
    # Each of 65,536 threads stores and loads 64 floats.
    assert moved == {14: "1.68e+07 bytes stored", 16: "1.68e+07 bytes loaded"}


def test_a_compiler_that_fails_is_a_caveat(
    lower: Any, tvm_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda_home: Path
) -> None:
    folder = tmp_path / "cuda" / "bin"
    folder.mkdir(parents=True)
    (folder / "nvcc").write_text("#!/bin/sh\necho 'error: no such device' >&2\nexit 1\n")
    (folder / "nvcc").chmod(0o755)
    (folder / "nvdisasm").symlink_to(cuda_home / "bin" / "nvdisasm")
    monkeypatch.setenv("CUDA_HOME", str(folder.parent))
    path = EXAMPLES / "matmul_tvm.py"
    options = (path, "--kernel", "matmul_tiled", "--python", tvm_python, "--device", "a100-80-sxm")
    status, out, _ = lower(*options, "--format", "json", command="analyze")
    (kernel,) = json.loads(out)["kernels"]
    assert status == 0 and kernel["launch_facts"] == "source" and kernel["time_s"] is not None
    reasons = [one["message"] for one in kernel["caveats"]]
    assert "was not compiled for sm_80: nvcc: error: no such device" in reasons


def local_memory(entries: list[Any]) -> Iterator[tuple[int, str]]:
    for entry in entries:
        if "local memory" in entry["details"]:
            yield entry["line"], entry["details"]["local memory"]
        yield from local_memory(entry["children"])


LOCAL_ARRAY = """\
import tilelang
import tilelang.language as T

M, N = 65536, 64


@T.prim_func
def take(X: T.Tensor((M, N)), I: T.Tensor((M, N), "int32"), Y: T.Tensor((M,))):
    with T.Kernel(M // 128, threads=128) as bx:
        tx = T.get_thread_binding()
        a = T.alloc_local((N,), "float32")
        s = T.alloc_local((1,), "float32")
        for j in T.serial(N):
            a[j] = X[bx * 128 + tx, j]
        for j in T.serial(N):
            s[0] = s[0] + a[I[bx * 128 + tx, j]]
        Y[bx * 128 + tx] = s[0]
"""


def test_a_kernel_on_a_cpu_has_the_times_of_its_assembly(
    each_tvm_python: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A product of bytes, which LLVM makes of products of pairs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "mine.toml").write_text(
        'extends = "x86-avx512"\nid = "mine"\nname = "Mine"\naliases = []\n'
        '[cpu]\nprocessor = "znver4"\n'
    )
    (tmp_path / "kernels.py").write_text(PRODUCT_OF_BYTES)
    options = ("--device", tmp_path / "mine.toml", "--python", each_tvm_python, "--format", "json")

    def kernel_of(*more: str) -> dict[str, Any]:
        arguments = ["analyze", str(tmp_path / "kernels.py"), *map(str, options), *more]
        assert execute_here(arguments) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        return kernel

    compiled, estimated = kernel_of(), kernel_of("--no-compile")
    assert (compiled["launch_facts"], estimated["launch_facts"]) == ("compiled", "source")
    assert compiled["time_s"] < 0.8 * estimated["time_s"]


PRODUCT_OF_BYTES = """
try:
    from tvm.script import tirx as T
except ImportError:
    from tvm.script import tir as T

@T.prim_func
def dots(
    A: T.Buffer((128, 512), "int8"),
    B: T.Buffer((128, 512), "int8"),
    C: T.Buffer((128, 128), "int32"),
):
    for i, j in T.grid(128, 128):
        C[i, j] = 0
        for r in range(512):
            C[i, j] = C[i, j] + T.cast(A[i, r], "int32") * T.cast(B[j, r], "int32")
"""
