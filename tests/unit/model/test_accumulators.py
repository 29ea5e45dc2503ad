"""The accumulator's type is part of the rate of matrix units."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens.hardware import catalogue, load
from tirlens.model import analyze
from tirlens.model.dtypes import tensor_class
from tirlens.model.roofline import peak
from tirlens_worker.facts import Gemm, KernelFacts, Loop, Node

#: Boards whose white papers give fp16 products with fp16 accumulation twice the rate.
TWICE = {"rtx-3080": 119e12, "rtx-3090": 142e12, "rtx-4090": 330e12, "rtx-5090": 419e12}


def with_accumulator(nodes: tuple[Node, ...], dtype: str) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            node = replace(node, body=with_accumulator(node.body, dtype))
        elif isinstance(node, Gemm):
            node = replace(node, arith=tuple(replace(one, accumulator=dtype) for one in node.arith))
        found.append(node)
    return tuple(found)


def product(accumulator: str, size: int = 2048) -> KernelFacts:
    facts = gemm(size, size, size, 256, 128, 64, stages=2, threads=256)
    buffers = tuple(
        replace(one, dtype=accumulator) if one.id == "Cl" else one for one in facts.buffers
    )
    return replace(facts, buffers=buffers, body=with_accumulator(facts.body, accumulator))


@pytest.mark.parametrize("device_id", [name for name in catalogue() if load(name).kind == "gpu"])
def test_rate_with_half_precision_accumulation(device_id: str) -> None:
    device = load(device_id)
    half, single = (
        peak(device, tensor_class("float16", accumulator)).flop_per_s
        for accumulator in ("float16", "float32")
    )
    if device_id in TWICE:
        assert half == pytest.approx(2 * single, rel=0.01)
        assert half == pytest.approx(TWICE[device_id], rel=0.01)
    else:
        assert half == single


def test_measured_product_is_not_below_its_roofline() -> None:
    # tile-ai/tilelang: fp16 2048^3, tile 256 x 128 x 64 in two stages, 256 threads: 61.3 us.
    report = analyze(product("float16"), load("rtx-5090"))
    assert report.roofline_time_s is not None and report.time_band_s is not None
    assert report.roofline_time_s == pytest.approx(41e-6, rel=0.01)
    low, high = report.time_band_s
    assert low < 61.3e-6 < high
    single = analyze(product("float32"), load("rtx-5090"))
    assert single.roofline_time_s == pytest.approx(82e-6, rel=0.01)
    assert (single.time_s or 0) > 1.5 * (report.time_s or 0)


@pytest.mark.parametrize("device_id", ["a100-80-sxm", "h100-sxm", "a40", "t4", "l40s"])
def test_boards_with_one_rate_have_one_time(device_id: str) -> None:
    half, single = (
        analyze(product(accumulator), load(device_id)).roofline_time_s
        for accumulator in ("float16", "float32")
    )
    assert half == single


@pytest.mark.parametrize(
    ("operand", "accumulator", "expected"),
    [
        ("float16", "float32", "tensor.float16"),
        ("float16", "float16", "tensor.float16.float16"),
        ("bfloat16", "float32", "tensor.bfloat16"),
        ("float8_e4m3fn", "float16", "tensor.float8.float16"),
        ("float8_e4m3", "float32", "tensor.float8"),
        ("int8", "int32", "tensor.int8"),
        ("float16", None, "tensor.float16"),
    ],
)
def test_classes(operand: str, accumulator: str | None, expected: str) -> None:
    assert tensor_class(operand, accumulator) == expected


def test_narrow_products_of_ada_have_two_rates() -> None:
    ada = load("rtx-4090")
    assert peak(ada, "tensor.float8.float16").flop_per_s == pytest.approx(660.6e12)
    assert peak(ada, "tensor.float8").flop_per_s == pytest.approx(330.3e12)
    # A device without fp8 computes in half precision.
    assert peak(load("rtx-3090"), "tensor.float8.float16").flop_per_s == pytest.approx(142e12, 0.01)
