"""Kernels that a device cannot run: each says why, and has its counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, scale
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import KernelFacts, Launch

H100 = load("h100-sxm")


def launched(grid: tuple[int, ...], threads: tuple[int, ...]) -> KernelFacts:
    facts = scale(1 << 20)
    return replace(facts, launch=Launch(grid=grid, threads=threads))


@pytest.mark.parametrize(
    ("grid", "threads", "reason"),
    [
        ((1024, 70_000), (256,), "blockIdx.y has the extent 70000, and CUDA allows 65535"),
        ((2**31,), (256,), "blockIdx.x has the extent 2147483648, and CUDA allows 2147483647"),
        ((1024,), (1, 1, 128), "threadIdx.z has the extent 128, and CUDA allows 64"),
        ((1024,), (1056,), "threadIdx.x has the extent 1056, and CUDA allows 1024"),
        ((0,), (256,), "the grid is empty: 0 blocks"),
    ],
)
def test_a_launch_that_cuda_refuses_has_no_time(
    grid: tuple[int, ...], threads: tuple[int, ...], reason: str
) -> None:
    report = analyze(launched(grid, threads), H100)
    assert (report.status, report.time_s, report.message) == ("no-time", None, reason)
    assert report.flop == 1 << 20


@pytest.mark.parametrize(("grid", "threads"), [((65_536,), (1024,)), ((1, 65_535), (1, 16, 64))])
def test_a_launch_at_the_limits_has_a_time(grid: tuple[int, ...], threads: tuple[int, ...]) -> None:
    assert analyze(launched(grid, threads), H100).status == "ok"


def test_a_gpu_kernel_has_no_time_on_a_cpu() -> None:
    report = analyze(gemm(), load("x86-avx512"))
    assert (report.status, report.time_s) == ("no-time", None)
    assert "is a CPU: choose a GPU" in report.message
    assert report.flop == 2 * 4096**3


@pytest.mark.parametrize("device", ["wormhole-n150", "blackhole-p150"])
def test_a_kernel_without_arithmetic_has_a_lower_bound_on_an_accelerator(device: str) -> None:
    facts = scale(1 << 20)
    (grid,) = facts.body
    (block,) = grid.body
    (store,) = block.body
    copy = replace(grid, body=(replace(block, body=(replace(store, arith=()),)),))
    report = analyze(replace(facts, body=(copy,)), load(device))
    assert (report.status, report.flop) == ("ok", 0)
    assert report.time_s is not None and report.time_s > 0


def test_arrays_beyond_the_memory_of_the_device_have_a_caveat() -> None:
    report = analyze(scale(1 << 40), H100)
    assert any("the arrays take 8796 GB, more than the 80 GB" in c.message for c in report.caveats)
    assert not any("the arrays take" in c.message for c in analyze(gemm(), H100).caveats)
