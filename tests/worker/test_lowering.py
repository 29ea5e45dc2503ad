"""The second tier: tilelang lowers a kernel without a GPU, and what its code says is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.kernels import gemm
from support.requests import request_of
from support.workers import TILELANG, analyzed
from tirlens import pipeline, source
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import KernelFacts, Launch, LoweredLaunch, Move
from tirlens_worker.frameworks.lowering.lower import message
from tirlens_worker.protocol import Analyze, Lowering, Problem, Result

GEMM = """
import tilelang
import tilelang.language as T

@tilelang.jit{options}
def gemm(M, N, K, stages=3):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads={threads}) as (bx, by):
            X = T.alloc_shared((128, 64), "float16")
            Y = T.alloc_shared((64, 128), "float16")
            Z = T.alloc_fragment((128, 128), "float32")
            T.clear(Z)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=stages):
                T.copy(A[by * 128, k * 64], X)
                T.copy(B[k * 64, bx * 128], Y)
                T.gemm(X, Y, Z)
            T.copy(Z, C[by * 128, bx * 128])
    return main

# tirlens: gemm(1024, 1024, 1024)
"""
PLAIN = GEMM.format(options="", threads=128)
UNSPECIALISED = GEMM.format(
    options="(pass_configs={tilelang.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True})",
    threads=128,
)
ODD = GEMM.format(options="", threads=100)
DEFAULT_THREADS = """
import tilelang.language as T

@T.prim_func
def add(A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
    with T.Kernel(8) as bx:
        for i in T.Parallel(512):
            B[bx * 512 + i] = A[bx * 512 + i] + 1.0
"""
ATOMIC = """
import tilelang.language as T

@T.prim_func
def count(A: T.Tensor((4096,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(8, threads=64) as bx:
        for i in T.Parallel(64):
            T.atomic_add(B[i], A[bx * 64 + i])
"""
Lower = Callable[..., KernelFacts]


@pytest.fixture(scope="module")
def lower(tmp_path_factory: pytest.TempPathFactory) -> Lower:
    """The facts of a text's kernel after both tiers, for a device."""
    folder = tmp_path_factory.mktemp("lowering")

    def run(text: str, device: str) -> KernelFacts:
        found = source.read(text)
        options = pipeline.Options(device=device, force_device=True, time_limit_s=120.0)
        first = pipeline.analysis_request(1, str(folder / "kernels.py"), text, found, options)
        result = analyzed(TILELANG, first)
        request = pipeline.lowering_request(first, result, found, options)
        assert request is not None
        answer = pipeline.complete_lowering(request, analyzed(TILELANG, request))
        (facts,) = pipeline.merge_lowerings(result, answer).kernels
        return facts

    return run


@pytest.mark.slow
def test_hopper_has_a_producer_and_tma(lower: Lower) -> None:
    facts = lower(PLAIN, "h100-sxm")
    (launch,) = facts.lowered
    # Three stages of two tiles, and a full and an empty barrier of 8 bytes for each stage.
    assert (launch.threads, launch.shared_bytes) == (256, 3 * 2 * 128 * 64 * 2 + 6 * 8)
    assert (launch.matrix_instruction, launch.registers_per_thread) == ("wgmma", 240)
    assert launch.moves == (
        Move("A", "read", "tma"),
        Move("B", "read", "tma"),
        Move("C", "write", "thread", (4,)),
    )
    report = analyze(facts, load("h100-sxm"))
    assert (report.launch_facts, report.threads_per_block) == ("lowered", 256)
    assert report.shared_bytes_per_block == launch.shared_bytes
    # It says nothing of another architecture.
    assert analyze(facts, load("a100")).launch_facts == "source"


@pytest.mark.slow
def test_the_options_of_a_compilation_are_kept(lower: Lower) -> None:
    (launch,) = lower(UNSPECIALISED, "h100-sxm").lowered
    assert (launch.threads, launch.registers_per_thread) == (128, None)
    assert launch.moves[0] == Move("A", "read", "async", (16,))


@pytest.mark.slow
def test_the_widths_of_accesses(lower: Lower) -> None:
    facts = lower(DEFAULT_THREADS, "a100")
    (launch,) = facts.lowered
    assert launch.threads == 128
    assert facts.launch.threads == (128, 1, 1)
    assert (launch.shared_bytes, launch.matrix_instruction) == (0, None)
    assert launch.moves == (
        Move("A", "read", "thread", (16,)),
        Move("B", "write", "thread", (16,)),
    )
    (launch,) = lower(ATOMIC, "a100").lowered
    assert [(move.buffer, move.mode) for move in launch.moves] == [("A", "read"), ("B", "atomic")]


@pytest.mark.slow
def test_what_the_framework_refuses_is_told(lower: Lower) -> None:
    facts = lower(ODD, "h100-sxm")
    assert facts.lowered == ()
    assert list(facts.refused) == ["sm_90"]
    report = analyze(facts, load("h100-sxm"))
    assert (report.launch_facts, report.status) == ("source", "no-time")
    assert report.time_s is None and report.flop
    assert analyze(facts, load("a100")).time_s
    assert report.lowering_error == facts.refused["sm_90"]
    assert "File " not in report.lowering_error


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (
            'File "lower.cc", line 7\nInternalError: Check failed: (a == b) is false: no 3 warps\n',
            "no 3 warps",
        ),
        ("Check failed: (0) is false: int4", "Check failed: (0) is false: int4"),
        ("Layout conflict of A and B:\n    loop F\n    fragment G\n", (
            "Layout conflict of A and B: loop F fragment G"
        )),
        (
            'needs Hopper. Got target={"kind":"cuda","host":{"kind":"c"},"arch":"sm_80"}, A(x)',
            "needs Hopper. Got target=sm_80, A(x)",
        ),
        ("x" * 500, "x" * 397 + "..."),
    ],
)  # fmt: skip
def test_the_words_of_the_framework(raw: str, told: str) -> None:
    assert message(raw) == told


def _requests() -> tuple[Analyze, Analyze]:
    first = request_of(Path("kernels.py"), PLAIN)
    kernels = tuple(replace(item, lower_to={"arch": "sm_90"}) for item in first.kernels)
    return first, replace(first, kernels=kernels)


@pytest.mark.parametrize(
    ("changes", "options", "arch"),
    [
        ({}, {"device": "h100-sxm"}, "sm_90"),
        ({}, {"device": "a100"}, "sm_80"),
        ({"target": {"kind": "cuda", "arch": "sm_80"}}, {}, "sm_80"),
        ({}, {"device": "mi300x"}, None),
        ({}, {"device": "x86-avx2"}, None),
        ({}, {"device": "h100-sxm", "lower": False}, None),
        ({"framework": "tvm"}, {"device": "h100-sxm"}, None),
        ({"launch": Launch()}, {"device": "h100-sxm"}, None),
        ({"lowered": (LoweredLaunch("sm_90", 256, 0),)}, {"device": "h100-sxm"}, None),
        ({"lowered": (LoweredLaunch("sm_90", 256, 0),)}, {"device": "a100"}, "sm_80"),
        ({"refused": {"sm_90": "no"}}, {"device": "h100-sxm"}, None),
    ],
)
def test_what_is_lowered_for_what(
    changes: dict[str, object], options: dict[str, object], arch: str | None
) -> None:
    facts = replace(gemm(), definition="gemm", **changes)  # type: ignore[arg-type]
    asked = pipeline.Options(**options)  # type: ignore[arg-type]
    first, _ = _requests()
    request = pipeline.lowering_request(first, Result(1, (facts,)), source.read(PLAIN), asked)
    if arch is None:
        assert request is None
        return
    assert request is not None
    (kernel,) = request.kernels
    assert dict(kernel.lower_to) == {"kind": "cuda", "arch": arch}
    assert [item.expression for item in kernel.candidates] == [facts.call]
    assert not kernel.allow_assumed


def test_versions_of_a_kernel_are_not_lowered_for_one_another() -> None:
    facts = replace(gemm(), definition="gemm")
    text = PLAIN + PLAIN
    first = request_of(Path("kernels.py"), text)
    assert len(first.kernels) == 2
    options = pipeline.Options(device="h100-sxm")
    result = Result(1, (facts,))
    assert pipeline.lowering_request(first, result, source.read(text), options) is None


@pytest.mark.parametrize("kind", ["timeout", "crash", "memory"])
@pytest.mark.parametrize("of_kernel", [True, False])
def test_a_kernel_that_took_too_long_is_not_tried_again(kind: str, of_kernel: bool) -> None:
    _, request = _requests()
    problem = Problem(kind, "it took long", kernel="gemm" if of_kernel else None)
    answer = pipeline.complete_lowering(request, Result(1, problems=(problem,)))
    assert answer.problems == ()
    (outcome,) = answer.lowered
    assert (outcome.kernel, outcome.arch, outcome.unfinished) == ("gemm", "sm_90", "it took long")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([("import", None), ("timeout", None)], "timeout"),
        ([("timeout", None), ("trace", "gemm")], "trace"),
        ([("trace", "other"), ("import", None)], "import"),
        ([("trace", "other")], "it yields no lowered kernel"),
    ],
)
def test_the_reason_is_what_ended_it(told: list[tuple[str, str | None]], why: str) -> None:
    _, request = _requests()
    problems = tuple(Problem(kind, kind, kernel=kernel) for kind, kernel in told)
    (outcome,) = pipeline.complete_lowering(request, Result(1, problems=problems)).lowered
    assert outcome.unfinished == why


@pytest.mark.parametrize("kind", ["cancelled", "interpreter"])
def test_a_cancelled_answer_says_nothing(kind: str) -> None:
    _, request = _requests()
    answer = Result(1, problems=(Problem(kind, "given up"),))
    assert pipeline.complete_lowering(request, answer) is answer


@pytest.mark.slow
def test_an_unfinished_lowering_is_a_caveat(lower: Lower) -> None:
    facts = replace(lower(PLAIN, "h100-sxm"), lowered=())
    call = facts.call
    lost = Lowering(facts.definition, "", call, "sm_90", unfinished="it took long")
    (after,) = pipeline.merge_lowerings(Result(1, (facts,)), Result(1, lowered=(lost,))).kernels
    assert after.caveats[-1].message == "was not lowered for sm_90: it took long"
    assert (after.lowered, after.refused) == ((), {})
