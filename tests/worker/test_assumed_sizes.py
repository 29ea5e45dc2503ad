"""Sizes that are assumed for the dynamic dimensions of a kernel fit together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens_worker.facts import Buffer, Expr
from tirlens_worker.tracing.assumed_sizes import compact_strides


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        (("m", 64), ("stride", 1), {"stride": 64}),
        (("m", ("*", "n", 2)), ("stride", 1), {"stride": 512}),
        (("b", "m", "n"), ("outer", "stride", 1), {"outer": 128 * 256, "stride": 256}),
        (("m", 4), (1, "stride"), {"stride": 128}),
        (("m", "n"), (64, "stride"), {}),
        (("m", "unknown"), ("stride", 1), {}),
        (("m", "n"), (), {}),
    ],
)
def test_a_stride_is_that_of_an_array_without_gaps(
    shape: tuple[Expr, ...], strides: tuple[Expr, ...], expected: dict[str, int]
) -> None:
    array = Buffer("X", "X", "float16", shape, strides=strides, is_parameter=True)
    facts = replace(gemm(), buffers=(array,))
    assert compact_strides(facts, {"b": 2, "m": 128, "n": 256}) == expected
