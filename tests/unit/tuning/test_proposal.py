"""Values to try, from what the text of a kernel uses its parameters for."""

from __future__ import annotations

import pytest

from tirlens import source
from tirlens.tuning.proposal import propose

TEXT = """
import tilelang
import tilelang.language as T

@tilelang.jit
def product(M, N, K, block_M=64, block_N=64, block_K=32, depth=2, *, lanes=128, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(N // block_N, M // block_M, threads=lanes) as (bx, by):
            a = T.alloc_shared((block_M, block_K), dtype)
            b = T.alloc_shared((block_K, N), dtype)
            c = T.alloc_fragment([block_M, block_N], "float32")
            for k in T.Pipelined(K // block_K, num_stages=depth):
                T.copy(A[by * block_M, k * block_K], a)
    return main
"""
STAGES = ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "product(8, 8, 8)",
            {
                "block_M": ("16", "32", "64", "128", "256"),
                "block_N": ("16", "32", "64", "128", "256"),
                "block_K": ("8", "16", "32", "64", "128"),
                "depth": STAGES,
                "lanes": ("64", "128", "256", "512"),
            },
        ),
        (
            # An odd size has no half; six stages are tried since they are given.
            "product(8, 8, 8, 1, block_N=6, block_K=K, depth=6, lanes=96)",
            {
                "block_M": ("1", "2", "4"),
                "block_N": ("3", "6", "12", "24"),
                "depth": (*STAGES, "5", "6"),
                "lanes": ("96", "192", "384"),
            },
        ),
        (
            "product(8, 8, 8, 2, 2, 2, 0, lanes=1024)",
            {
                "block_M": ("1", "2", "4", "8"),
                "block_N": ("1", "2", "4", "8"),
                "block_K": ("1", "2", "4", "8"),
                "lanes": ("512", "1024"),
            },
        ),
    ],
)
def test_the_values_are_around_those_of_the_call(
    call: str, expected: dict[str, tuple[str, ...]]
) -> None:
    (kernel,) = source.read(TEXT).kernels
    assert {axis.name: axis.values for axis in propose(TEXT, kernel, call)} == expected


def test_a_kernel_without_such_parameters_has_no_proposal() -> None:
    text = TEXT.replace("block_M=64, block_N=64, block_K=32, depth=2, *, lanes=128, ", "")
    (kernel,) = source.read(text).kernels
    assert propose(text, kernel, "product(8, 8, 8)") == ()
