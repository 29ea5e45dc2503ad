"""Sweeps over the sizes of a kernel, with a real framework."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main
from tirlens.cli.worker_pool import keep_workers

pytestmark = pytest.mark.slow

# Of `copy`, the first size is a parameter and the second a dynamic dimension.
KERNELS = """
import tilelang
import tilelang.language as T


@tilelang.autotune(configs=[{"block_M": 64}, {"block_M": 128}])
@tilelang.jit(out_idx=[2])
def matmul(M, N, K, block_M=64):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, 64), "float16")
            B_shared = T.alloc_shared((64, 128), "float16")
            C_local = T.alloc_fragment((block_M, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=3):
                T.copy(A[by * block_M, k * 64], A_shared)
                T.copy(B[k * 64, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * 128])

    return main


@tilelang.jit
def copy(N):
    M = T.dynamic("M")

    @T.prim_func
    def main(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(M, 32), T.ceildiv(N, 128), threads=128) as (bx, by):
            A_shared = T.alloc_shared((32, 128), "float16")
            T.copy(A[bx * 32, by * 128], A_shared)
            T.copy(A_shared, B[bx * 32, by * 128])

    return main
"""


@pytest.fixture(scope="module", autouse=True)
def warm_worker() -> Iterator[None]:
    """Imports the framework once for all commands."""
    with keep_workers():
        yield


@pytest.fixture
def sweep(
    tmp_path: Path,
    tilelang_python: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def command(*options: str, status: int = 0) -> str:
        shared = ["--python", str(tilelang_python), "--device", "h100-sxm"]
        assert main(["sweep", str(path), *shared, *options]) == status
        said = capsys.readouterr()
        return said.out if status == 0 else said.err

    return command


MATMUL = ("--kernel", "matmul", "--call", "matmul(4096, 4096, 4096)")
COPY = ("--kernel", "copy", "--call", "copy(4096)")


def test_a_parameter_is_an_axis_of_the_call(sweep: Any) -> None:
    text = sweep(*MATMUL, "--bind", "M=64..8192:x2", "--format", "json")
    data = json.loads(text)
    points = data["points"]
    assert data["schema_version"] == 1
    assert [one["bindings"] for one in points] == [{"M": 64 << n} for n in range(8)]
    assert points[1]["call"] == "matmul(128, 4096, 4096)"
    times = [one["time_s"] for one in points]
    assert times == sorted(times) and times[-1] > 10 * times[0]
    changes = [
        (one["bindings"], other["bindings"])
        for one, other in itertools.pairwise(points)
        if one["bound"] != other["bound"]
    ]
    assert [(one["before"], one["after"]) for one in data["crossovers"]] == changes
    assert all(0 < one["efficiency"] <= 1 for one in points)


def test_a_dynamic_dimension_is_an_axis(
    sweep: Any, tmp_path: Path, tilelang_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(sweep(*COPY, "--bind", "M=1024,4096", "--bind", "N=1024,2048",
                            "--format", "json"))  # fmt: skip
    found = {tuple(one["bindings"].values()): one["time_s"] for one in data["points"]}
    assert list(found) == [(1024, 1024), (1024, 2048), (4096, 1024), (4096, 2048)]
    options = ["--python", str(tilelang_python), "--device", "h100-sxm", "--no-lower"]
    arguments = [
        "analyze",
        str(tmp_path / "kernels.py"),
        "--call",
        "copy(2048)",
        "--bind",
        "M=4096",
    ]
    assert main([*arguments, *options, "--format", "json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert found[4096, 2048] == pytest.approx(kernel["time_s"], rel=1e-12)


def test_the_best_configuration_by_range(sweep: Any) -> None:
    options = (*MATMUL, "--bind", "M=64..4096:x8", "--tune")
    points = json.loads(sweep(*options, "--format", "json"))["points"]
    assert [one["bindings"]["M"] for one in points] == [64, 512, 4096]
    for one in points:
        assert one["call"].startswith(f"matmul({one['bindings']['M']}, 4096, 4096")
        others = json.loads(
            sweep(*MATMUL, "--bind", f"M={one['bindings']['M']}", "--bind", "block_M=64,128",
                  "--format", "json")
        )["points"]  # fmt: skip
        best = min(others, key=lambda point: point["time_s"])
        assert one["time_s"] == best["time_s"]
        assert one["arguments"] == {"block_M": best["bindings"]["block_M"]}
    names: dict[str, Any] = {}
    exec(sweep(*options, "--format", "python"), names)
    expected = [(one["bindings"], one["arguments"]) for one in points]
    # Neighbours with one configuration are one range, named by its largest size.
    ranges = [list(group)[-1] for _, group in itertools.groupby(expected, lambda one: one[1])]
    assert names["configs"] == ranges


def test_csv_has_one_header_and_a_row_for_each_point(sweep: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(sweep(*COPY, "--bind", "M=256..1024:x2",
                                                 "--format", "csv"))))  # fmt: skip
    assert [row["M"] for row in rows] == ["256", "512", "1024"]
    assert all(float(row["time_s"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((*MATMUL,), "--bind NAME=A..B"),
        ((*MATMUL, "--bind", "X=1..4"), "no size X; there are: M, N, K, block_M"),
        ((*MATMUL, "--bind", "M=0..4"), "M=0 is no size"),
        ((*MATMUL, "--bind", "M=8", "--space", "block_M=64"), "--tune"),
        ((*COPY, "--bind", "M=8", "--tune"), "no configurations of its own"),
    ],
)
def test_what_is_no_sweep_is_told(options: tuple[str, ...], word: str, sweep: Any) -> None:
    assert word in sweep(*options, status=2)
