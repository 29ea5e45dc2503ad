"""Instructions of a type conversion, by unit.

Conversions between narrow floating-point types and float32 bypass the conversion unit: HADD2.F32
converts a half, IMAD.U32 or PRMT a bfloat16; one F2FP of the integer pipeline converts two floats
to halves, and from sm_89 two float8 to halves and back.  Conversions between integers and floating
point use the conversion unit, at a quarter of the arithmetic rates or less.

Sources: the instructions that ptxas 12.9 gives for sm_80 and sm_90 (`tests/measured/sass.py`);
NVIDIA Nsight Compute, "Pipelines": the ALU "performs fast FP32-to-FP16 conversion" from Ampere on,
the FP16 pipeline has "a fast FP32-to-FP16 and FP16-to-FP32 converter".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...dtypes import bits

_FROM_HALF_INSTRUCTIONS: Mapping[str, Mapping[str, float]] = {
    "float16": {"fma": 1},
    "bfloat16": {"int": 1},
}
_PACKED_INSTRUCTIONS: Mapping[str, float] = {"int": 1}
# Integers below 32 bits are extracted from or inserted into a word: one or two PRMT (ptxas 12.9).
_NARROW_INSTRUCTIONS: Mapping[str, float] = {"int": 1.5}
_CONVERSION_INSTRUCTIONS: Mapping[str, float] = {"cvt": 1}
# 64-bit conversions run at the lower rate of the conversion unit and fp64 arithmetic: per clock and
# SM 16 for compute capability 6.0, 7.0, 8.0 and 9.0, 4 for 6.1, 2 for 7.5, 8.6 and 8.9 (CUDA C++
# Programming Guide, "Arithmetic Instructions": type conversions from and to 64-bit types).
_FP64_INSTRUCTIONS: Mapping[str, float] = {"cvt": 1, "fma": 1}
WORD_BITS = 32


def conversion_instructions(source: str, target: str) -> Mapping[str, float]:
    """Instructions by unit for the conversion of one value."""
    if _is_integer(source) and _is_integer(target):
        return {} if bits(source) == bits(target) else {"int": 1}
    if source == target:
        return {}
    if _is_integer(source) or _is_integer(target):
        integer = source if _is_integer(source) else target
        narrow = (bits(integer) or WORD_BITS) < WORD_BITS
        # The unit gives floats, from which halves are made.
        rest = {"fma": 1, "int": 0.5} if target in _FROM_HALF_INSTRUCTIONS else {}
        return _add_instructions(
            _CONVERSION_INSTRUCTIONS, _NARROW_INSTRUCTIONS if narrow else {}, rest
        )
    if "float64" in (source, target):
        return _FP64_INSTRUCTIONS
    if source.startswith("float8"):
        return _add_instructions(
            _PACKED_INSTRUCTIONS, _FROM_HALF_INSTRUCTIONS["float16"] if target == "float32" else {}
        )
    return _add_instructions(
        _FROM_HALF_INSTRUCTIONS.get(source, {}), {} if target == "float32" else _PACKED_INSTRUCTIONS
    )


def is_packed(source: str, target: str) -> bool:
    """Whether one instruction converts two neighbouring elements."""
    types = {source, target}
    eight = any(name.startswith("float8") for name in types)
    return eight or (source == "float32" and target in _FROM_HALF_INSTRUCTIONS)


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool"))


def _add_instructions(*costs: Mapping[str, float]) -> Mapping[str, float]:
    out: Counter[str] = Counter()
    for cost in costs:
        out.update(cost)  # pyright: ignore[reportArgumentType]
    return out
