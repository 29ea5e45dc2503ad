"""The routes of tilelang's code: what its rules say of a source is what its generated CUDA does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from support.workers import TILELANG, analyzed
from tirlens import pipeline, source
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens_worker.facts import KernelFacts

KERNEL = """
import tilelang.language as T

def product(stages, DT="float16", threads=128, BM=64, BN=64, BK=64, N=1024):
    @T.prim_func
    def main(
        A: T.Tensor((N, {columns}), DT),
        B: T.Tensor((N, N), DT),
        L: T.Tensor((N,), "int32"),
        C: T.Tensor((N, N), "float32"),
    ):
        with T.Kernel(N // BN, N // BM, threads=threads) as (bx, by):
            As = T.alloc_shared((BM, BK), DT)
            Bs = T.alloc_shared((BK, BN), DT)
            Af = T.alloc_fragment((BM, BK), DT)
            Bf = T.alloc_fragment((BK, BN), DT)
            Cl = T.alloc_fragment((BM, BN), "float32")
            T.clear(Cl)
            for k in T.Pipelined(N // BK, num_stages=stages):
                {loads}
                T.gemm({a}, {b}, Cl)
            T.copy(Cl, C[by * BM, bx * BN])
    return main

# tirlens: product({call})
"""
COPY_A = "T.copy(A[by * BM, k * BK], As)"
COPY_B = "T.copy(B[k * BK, bx * BN], Bs)"


def tile_loop(value: str) -> str:
    return f"for i, j in T.Parallel(BM, BK):\n    As[i, j] = {value}"


GUARDED = """for i, j in T.Parallel(BM, BK):
    if by * BM + i < L[0]:
        As[i, j] = A[by * BM + i, k * BK + j]
    else:
        As[i, j] = T.cast(0, DT)
for i, j in T.Parallel(BK, BN):
    if k * BK + i < L[0]:
        Bs[i, j] = B[k * BK + i, bx * BN + j]
    else:
        Bs[i, j] = T.cast(0, DT)"""
LOADS: Mapping[str, tuple[str, ...]] = {
    "copies": (COPY_A, COPY_B),
    "elements": (tile_loop("A[by * BM + i, k * BK + j]"), COPY_B),
    "gathered": (tile_loop("A[L[by * BM + i], k * BK + j]"), COPY_B),
    "computed": (tile_loop("A[by * BM + i, k * BK + j] * T.cast(2, DT)"), COPY_B),
    "registers": ("T.copy(A[by * BM, k * BK], Af)", "T.copy(Af, As)", COPY_B),
    "branch": ("if L[k] > 0:\n    T.copy(A[by * BM, k * BK], As)", COPY_B),
    "a-fragment": (COPY_A, "T.copy(As, Af)", COPY_B),
    "b-fragment": (COPY_A, COPY_B, "T.copy(Bs, Bf)"),
    "guarded": (GUARDED,),
    "rows-of-8-bytes": (COPY_A, COPY_B),
    "without-tma": (COPY_A.replace("As)", "As, disable_tma=True)"), COPY_B),
}
#: The instruction that the generated source names, and the one of the report.
INSTRUCTIONS = {"mma_sync": "mma.sync", "wgmma_": "wgmma", "tcgen05mma": "tcgen05"}


def text_of(name: str, call: str) -> str:
    lines = "\n".join(LOADS[name]).splitlines()
    loads = "\n                ".join(lines)
    a = "Af" if name == "a-fragment" else "As"
    b = "Bf" if name == "b-fragment" else "Bs"
    # TMA takes arrays whose rows are multiples of 16 bytes.
    columns = "N + 4" if name == "rows-of-8-bytes" else "N"
    return KERNEL.format(loads=loads, columns=columns, a=a, b=b, call=call)


@cache
def lower(name: str, stages: int, device: str) -> tuple[KernelFacts, str]:
    """The facts of a kernel with its lowering for a device, and its CUDA source."""
    text = text_of(name, str(stages))
    found = source.read(text)
    options = pipeline.Options(device=device, force_device=True, time_limit_s=120.0)
    first = pipeline.analysis_request(1, "/nowhere/kernel.py", text, found, options)
    result = analyzed(TILELANG, first)
    request = pipeline.lowering_request(first, result, found, options)
    assert request is not None
    answer = pipeline.complete_lowering(request, analyzed(TILELANG, request))
    (facts,) = pipeline.merge_lowerings(result, answer).kernels
    kernels = tuple(replace(kernel, emit=("cuda",)) for kernel in request.kernels)
    generated = analyzed(TILELANG, replace(request, kernels=kernels)).generated
    return facts, generated[0].texts[0].text


def paths(report: KernelReport) -> list[tuple[str, tuple[str, ...]]]:
    return [(entry.label, entry.path) for _, entry in report.walk() if entry.path]


def entry(report: KernelReport, label: str) -> BreakdownEntry:
    return next(entry for _, entry in report.walk() if label in entry.label)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["a100-80-sxm", "h100-sxm", "b200"])
@pytest.mark.parametrize("name", LOADS)
def test_the_rules_say_what_the_generated_code_does(name: str, device: str) -> None:
    facts, cuda = lower(name, 3, device)
    assert facts.lowered
    known = analyze(facts, load(device))
    by_rules = analyze(replace(facts, lowered=()), load(device))
    assert paths(by_rules) == paths(known)
    (instruction,) = {label for word, label in INSTRUCTIONS.items() if f"tl::{word}" in cuda}
    assert entry(known, "T.gemm").path == (instruction,)
    routes = {part for _, path in paths(known) for part in path}
    assert ("tma_load" in cuda) == ("TMA" in routes)
    assert ("cp_async_gs" in cuda) == ("cp.async" in routes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "device"),
    [
        *((name, "h100-sxm") for name in ("guarded", "copies", "elements", "gathered", "branch")),
        *((name, device) for name in ("guarded", "copies") for device in ("a100-80-sxm", "b200")),
    ],
)
def test_equal_code_takes_equal_time(name: str, device: str) -> None:
    """Of one to three stages: a copy that is not asynchronous is not pipelined."""
    times: dict[str, set[float | None]] = {}
    for stages in (1, 2, 3):
        facts, cuda = lower(name, stages, device)
        times.setdefault(re.sub(r"\s", "", cuda), set()).add(analyze(facts, load(device)).time_s)
    assert all(len(equal) == 1 for equal in times.values())
    if name in ("guarded", "copies"):
        assert len(times) == len(set.union(*times.values())) == (1 if name == "guarded" else 3)


@pytest.mark.slow
def test_a_line_says_what_it_lost_and_why() -> None:
    guarded = analyze(lower("guarded", 3, "h100-sxm")[0], load("h100-sxm"))
    loop = entry(guarded, "T.Pipelined")
    assert loop.path[0] == "not pipelined" and loop.lost.startswith("3 stages: ")
    assert any("lost 3 stages" in note.message for note in guarded.caveats)
    product = entry(analyze(lower("copies", 3, "b200")[0], load("b200")), "T.gemm")
    assert product.path == ("mma.sync",) and product.lost.startswith("tcgen05: ")
