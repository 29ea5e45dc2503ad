"""Sizes and classes of the element types that TVM and tilelang know by name."""

from __future__ import annotations

import re
from functools import lru_cache

_WITHOUT_WIDTH = {"bool": 8, "handle": 64, "half": 16, "float": 32, "double": 64, "int": 32}


@lru_cache(maxsize=256)
def bits(dtype: str) -> int | None:
    """Bits of one element as it is stored, all lanes of a vector type; None if not known."""
    vector = re.fullmatch(r"(.+?)x(\d+)", dtype)
    base, lanes = vector.groups() if vector else (dtype, "1")
    if base in _WITHOUT_WIDTH:
        return _WITHOUT_WIDTH[base] * int(lanes)
    match = re.match(r"(?:e\d+m\d+\w*_)?(?:uint|int|float|bfloat|tfloat|tf)(\d+)", base)
    if match is None:
        return None
    return int(match.group(1)) * int(lanes)


def byte_count(elements: int, dtype: str) -> int | None:
    """Bytes that `elements` elements take, rounded up where types are narrower than a byte."""
    width = bits(dtype)
    return None if width is None else (elements * width + 7) // 8


def is_float(dtype: str) -> bool:
    """Whether a type, in whatever framework's spelling, is one of floating-point numbers."""
    return "float" in dtype or dtype.startswith(("bf", "tf"))


def scalar_class(dtype: str) -> str:
    """The class of a scalar floating-point type: fp64, fp32, bf16 or fp16 (and narrower)."""
    base = dtype.split("x")[0]
    if base.startswith("bf"):
        return "bf16"
    return {"float64": "fp64", "float32": "fp32", "float": "fp32", "tfloat32": "fp32"}.get(
        base, "fp16"
    )


def tensor_class(dtype: str, accumulator: str | None = None) -> str:
    """The tensor-core class of an operand type, ``tensor.float8`` for every float8 format.

    A class of its own are floating-point products that accumulate in half precision, which some
    devices compute faster: ``tensor.float16.float16``.
    """
    name = _operand_class(dtype)
    if accumulator == "float16" and name in ("tensor.float16", "tensor.float8"):
        return f"{name}.float16"
    return name


def _operand_class(dtype: str) -> str:
    base = dtype.split("x")[0]
    if base in ("float32", "float", "tfloat32"):
        return "tensor.tf32"
    for family in ("float8", "float6", "float4"):
        if base.split("_")[0] == family:
            return "tensor." + family
    return "tensor." + {"uint8": "int8", "uint4": "int4"}.get(base, base)
