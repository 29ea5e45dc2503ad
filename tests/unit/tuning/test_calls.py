"""Calls with the values of a configuration."""

from __future__ import annotations

import pytest

from tirlens import source
from tirlens.source import KernelSource
from tirlens.tuning import CallError, with_arguments

TEXT = """
import tilelang
import tilelang.language as T

@tilelang.jit
def matmul(M, N, block_M=64, num_stages=2):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float16")):
        with T.Kernel(M // block_M, threads=128) as bx:
            T.clear(A[bx * block_M, 0])
    return main
"""


@pytest.fixture(scope="module")
def kernel() -> KernelSource:
    (found,) = source.read(TEXT).kernels
    return found


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("matmul(8, 8)", {"block_M": "128"}, "matmul(8, 8, block_M=128)"),
        ("matmul(8, 8, 64)", {"block_M": "128"}, "matmul(8, 8, 128)"),
        ("matmul(8, 8, block_M=64)", {"block_M": "32"}, "matmul(8, 8, block_M=32)"),
        (
            "matmul(8, N=8)",
            {"num_stages": "3", "block_M": "32"},
            "matmul(8, N=8, num_stages=3, block_M=32)",
        ),
        ("matmul(8, 8)", {"block_M": "T.x(1)"}, "matmul(8, 8, block_M=T.x(1))"),
        ("build(2).matmul(8, 8)", {"block_M": "32"}, "build(2).matmul(8, 8, block_M=32)"),
        ("matmul(8, 8)", {"pass_configs": "{}"}, "matmul(8, 8)"),
    ],
)
def test_a_configuration_sets_the_parameters_of_a_call(
    call: str, arguments: dict[str, str], expected: str, kernel: KernelSource
) -> None:
    assert with_arguments(call, kernel, arguments) == expected


@pytest.mark.parametrize(
    ("call", "arguments", "word"),
    [
        ("run(8)", {"block_M": "32"}, "does not call matmul itself"),
        ("matmul", {"block_M": "32"}, "no call"),
        ("matmul(*sizes)", {"block_M": "32"}, "no call"),
        ("matmul(8, 8)", {"block_X": "32"}, "no parameter block_X"),
    ],
)
def test_a_call_that_cannot_be_given_them_is_refused(
    call: str, arguments: dict[str, str], word: str, kernel: KernelSource
) -> None:
    with pytest.raises(CallError, match=word):
        with_arguments(call, kernel, arguments)
