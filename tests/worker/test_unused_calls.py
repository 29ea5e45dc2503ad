"""Where a call is assumed, caveats say which calls of the text are not used, and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens_worker.facts import Span
from tirlens_worker.protocol import CallCandidate, Result
from tirlens_worker.tracing.failures import Failure
from tirlens_worker.tracing.unused_calls import EmptyKernelError, caveats

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

KERNEL = """import tilelang
import tilelang.language as T

@tilelang.jit
def scale(M, N, block=128):
    assert N % 64 == 0
    @T.prim_func
    def main(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(M, block), threads=128) as i:
            for k, j in T.Parallel(block, N):
                B[i * block + k, j] = A[i * block + k, j] * 2.0
    return main

"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("scale(0, 64)\n", [(14, "scale(0, 64) is not used: its kernel accesses no array")]),
        (
            "scale(8, 100)\n",
            [(14, "scale(8, 100) is not used: assertion fails: N % 64 == 0, with N = 100")],
        ),
        (
            "scale(0, 64)\nscale(0, 128)\nscale(0, 192)\nscale(0, 256)\n",
            [
                (16, "scale(0, 192) is not used: its kernel accesses no array"),
                (14, "scale(0, 64) is not used: its kernel accesses no array"),
                (8, "2 more calls are not used"),
            ],
        ),
        ("", []),
        ("scale(0, 64)\nscale(4096, 64)\n", []),
    ],
)
def test_they_are_named_with_the_reason(
    run_tilelang: Run, calls: str, expected: list[tuple[int, str]]
) -> None:
    result = run_tilelang(KERNEL + calls)
    (facts,) = result.kernels
    found = [(item.span.line if item.span else 0, item.message) for item in facts.caveats]
    assert [item for item in found if "not used" in item[1]] == expected
    assert (facts.call_source == "assumed") is not ("4096" in calls)


def test_those_of_another_file_have_its_name_and_line() -> None:
    call = CallCandidate("scale(0, 64)", "repository", Span(3, 0, 3, 12, "/repository/bench.py"))
    kernel = Span(7, 4, 7, 80)
    (caveat,) = caveats([Failure(call, EmptyKernelError())], kernel)
    assert caveat.span == kernel
    assert caveat.message == "scale(0, 64) (bench.py:3) is not used: its kernel accesses no array"
