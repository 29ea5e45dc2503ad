"""``tilelang.quantize`` of tilelang until 0.1.6: the conversions of packed weights.

Kernels with weights of few bits import from it the expressions that unpack a weight, and the
CUDA functions that unpack several at once.  The expressions are those that the kernels evaluate.  A
CUDA function is known by its name: the kernel calls it, and what it costs inside is not known.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Dict

from . import removed_names

_NAME = "tilelang.quantize"
# Exponents of float16 and bfloat16 are larger than those of e2m1 by these.
_BIASES = {"float16": (14, 10), "bfloat16": (126, 7)}


def module() -> ModuleType:
    """A module with the conversions."""
    found = ModuleType(_NAME)
    found.__path__ = []
    found.__dict__.update(
        _tir_packed_int_to_int_convert=_packed_to_signed,
        _tir_packed_to_signed_convert=_packed_to_signed,
        _tir_packed_to_unsigned_convert=_packed_to_unsigned,
        _tir_packed_to_unsigned_convert_with_zeros=_packed_with_zeros,
        _tir_u8_to_f4_to_bf16=_u8_to_bf16,
        _tir_packed_to_fp4_to_f16=_packed_to_f16,
        get_lop3_intrin_group=_lop3_group,
        get_mxfp_intrin_group=_mxfp_group,
    )
    return found


def _tirx() -> Any:
    return removed_names.tir_package()


def _packed_to_signed(_storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    """A signed weight: shifted to the highest bits, then to the lowest with its sign."""

    def convert(nbit: int, val: Any, pos: Any, dtype: str) -> Any:
        signed = val.astype("int{}".format(storage_nbit))
        unused = storage_nbit - nbit
        shift = unused - pos.astype(signed.dtype) * nbit
        return ((signed << shift) >> _tirx().const(unused, signed.dtype)).astype(dtype)

    return convert


def _packed_to_unsigned(storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    """An unsigned weight: shifted to the lowest bits and masked."""

    def convert(nbit: int, val: Any, pos: Any, dtype: str) -> Any:
        const = _tirx().const
        stored = "{}{}".format(storage_type, storage_nbit)
        mask = const((1 << nbit) - 1, stored)
        return ((val >> (pos * nbit).astype(stored)) & mask).astype(dtype)

    return convert


def _packed_with_zeros(storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    unpack = _packed_to_unsigned(storage_type, storage_nbit)

    def convert(nbit: int, val: Any, pos: Any, zero: Any, dtype: str) -> Any:
        stored = "{}{}".format(storage_type, storage_nbit)
        return (unpack(nbit, val, pos, stored) - zero).astype(dtype)

    return convert


def _float4(nbit: int, val: Any, pos: Any, dtype: str, scale: Any = None) -> Any:
    """A weight in e2m1: sign, two bits of the exponent, one of the mantissa."""
    tirx = _tirx()
    bias, mantissa_bits = _BIASES[dtype]
    wide = "uint16"

    def const(value: int) -> Any:
        return tirx.const(value, wide)

    weight = (val.astype(wide) >> (pos * nbit).astype(wide)) & const((1 << nbit) - 1)
    sign = (weight >> const(3)) << const(15)
    exponent = ((weight >> const(1)) & const(3)) + const(bias)
    if scale is not None:
        exponent = tirx.min(exponent + scale.astype(wide), const((1 << 8) - 1))
    mantissa = (weight & const(1)) << const(mantissa_bits - 1)
    return tirx.reinterpret(dtype, sign | (exponent << const(mantissa_bits)) | mantissa)


def _u8_to_bf16(nbit: int, val: Any, pos: Any, scale: Any, dtype: str) -> Any:
    return _float4(nbit, val, pos, dtype, scale)


def _packed_to_f16(_storage_type: str = "uint", _storage_nbit: int = 8) -> Callable[..., Any]:
    def convert(nbit: int, val: Any, pos: Any, dtype: str) -> Any:
        return _float4(nbit, val, pos, "float16").astype(dtype)

    return convert


def _lop3_group(
    out_dtype: str,
    source_format: str = "uint",
    source_bit: int = 4,
    storage_dtype: str = "int8",
    with_scaling: bool = False,
    with_zeros: bool = False,
    zeros_mode: str = "original",
    **_: Any,
) -> Dict[str, str]:
    """The function that unpacks the weights of a 32-bit word with ``lop3``."""
    short = {"float16": "f16", "int8": "i8s", "bfloat16": "bf16"}.get(str(out_dtype), out_dtype)
    sign = "u" if source_format.startswith("u") else "s"
    name = "decode_i{}{}_to_{}".format(source_bit, sign, short)
    name += "_scale" if with_scaling else ""
    name += "_zeros_{}".format(zeros_mode) if with_zeros else ""
    return {"func_name": name, "c_source": ""}


def _mxfp_group(
    out_dtype: str = "bfloat16",
    source_format: str = "fp",
    source_bit: int = 4,
    storage_dtype: str = "uint8",
    use_twiddling: bool = False,
) -> Dict[str, str]:
    """The function that unpacks weights in e2m1 with a scale."""
    twiddling = "_twiddling" if use_twiddling else ""
    name = "decode_{}{}_to_{}{}".format(source_format, source_bit, out_dtype, twiddling)
    return {"func_name": name, "c_source": ""}
