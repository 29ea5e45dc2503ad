"""Sizes of dynamic dimensions and arguments of calls, over which the time of a kernel is swept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import tirlens

pytestmark = pytest.mark.slow

SCALE = """\
from tvm.script import tirx as T


@T.prim_func
def scale(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in T.thread_binding((n + 127) // 128, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            if i * 128 + j < n:
                A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, tvm_python: Path) -> Iterator[tirlens.Client]:
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "scale.py").write_text(SCALE)
    with tirlens.Client(folder, python=tvm_python) as made:
        yield made


def test_a_dynamic_dimension(client: tirlens.Client) -> None:
    found = client.sweep("scale.py", "n=1024..67108864:x4", limit=100)
    assert [one.arguments["n"] for one in found.points] == [1024 << 2 * i for i in range(9)]
    times = [one.time_s for one in found.points if one.time_s is not None]
    assert times == sorted(times)
    for point in found.points[::4]:
        (kernel,) = client.estimate("scale.py", bindings=point.arguments).kernels
        assert (kernel.time_s, kernel.bound) == (point.time_s, point.bound)
    bounds = [one.bound for one in found.points]
    assert bounds[0] == "launch"
    assert bounds[-1] == "dram"
    changed = [(a, b) for a, b in pairwise(bounds) if a != b]
    assert [change.bounds for change in found.changes] == changed


def test_what_is_assumed_is_said(client: tirlens.Client) -> None:
    (kernel,) = client.estimate("scale.py").kernels
    assert kernel.assumed
    assert kernel.confidence_reasons[0] == "assumed arguments"
    (kernel,) = client.estimate("scale.py", bindings={"n": 1 << 20}).kernels
    assert kernel.flop == 1 << 20
    assert not kernel.assumed


@pytest.mark.parametrize("axis", ["n=m", "n=-1,4", "n=1..99999999999999999999:x10", "m=1..4"])
def test_values_that_are_no_sizes(client: tirlens.Client, axis: str) -> None:
    with pytest.raises(tirlens.ToolError) as caught:
        client.sweep("scale.py", axis)
    assert caught.value.kind in ("argument", "no-space")


def test_an_argument_of_a_call(tmp_path: Path, examples: Path, tilelang_python: Path) -> None:
    name = "gemm_tilelang.py"
    shutil.copy(examples / name, tmp_path)
    with tirlens.Client(tmp_path, python=tilelang_python) as client:
        for kernel, call in (
            ("matmul", "matmul(M={}, N=8192, K=8192)"),
            ("batched_matmul", "batched_matmul(16, {}, 1024, 512)"),
        ):
            found = client.sweep(name, "M=256..2048:x2", kernel=kernel)
            last = found.points[-1]
            (same,) = client.estimate(name, call=call.format(2048), tier="source").kernels
            assert last.time_s == pytest.approx(same.time_s)
            assert last.time_band_s == pytest.approx(same.time_band_s)
