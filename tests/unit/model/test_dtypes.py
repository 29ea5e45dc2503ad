"""Sizes of element types."""

from __future__ import annotations

import pytest

from tirlens.model.dtypes import bits, byte_count


@pytest.mark.parametrize(
    ("dtype", "width"),
    [
        ("float32", 32), ("float16x2", 32), ("bfloat16x128", 2048), ("boolx4", 32), ("int4", 4),
        ("float8_e4m3fn", 8), ("float8_e4m3fnx4", 32), ("float8_e5m2fnuz", 8),
        ("float4_e2m1fn", 4), ("float4_e2m1fnx2", 8), ("e4m3_float8x4", 32), ("handle", 64),
        ("custom", None),
    ],
)  # fmt: skip
def test_width(dtype: str, width: int | None) -> None:
    assert bits(dtype) == width


def test_narrow_types_fill_bytes_up() -> None:
    assert byte_count(3, "int4") == 2
