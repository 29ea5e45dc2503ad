"""How many registers the operands of matrix instructions have.

A warp holds an M x N tile in fragments: M * N elements over 32 lanes; a group of four warps holds
64 x N. Source of the shapes: PTX ISA, "Matrix Fragments for mma" and "wgmma.mma_async".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .operands import Operand

_LANES, _WARPGROUP = 32, 128
_REGISTER_BITS = 32
# The k of a shape is the last digits of a modifier: 1688, 16816, 16832, 8816.
_SHAPE = re.compile(r"(16|8)(8)(4|8|16|32|64|128|256)$")
_GROUP_SHAPE = re.compile(r"(64)x(\d+)x(\d+)$")
# Bits of an element of the factors; of sums 32, or 16 for products of halves to halves.
_ELEMENT_BITS = {"HMMA": 16, "IMMA": 8, "BMMA": 1, "DMMA": 64, "QMMA": 8}
_GROUP_BITS = {"HGMMA": 16, "IGMMA": 8, "QGMMA": 8, "BGMMA": 1}


def counts(
    name: str, modifiers: Sequence[str], operands: Sequence[Operand]
) -> tuple[int | None, ...] | None:
    """Registers of result, both factors and addend; None if `name` is no matrix instruction.

    A shape or type without a rule has None in each place.
    """
    if name in _GROUP_BITS:
        return _group_counts(name, modifiers, operands)
    if name not in _ELEMENT_BITS:
        return None
    shapes = [match for word in modifiers if (match := _SHAPE.match(word))]
    if not shapes or "SP" in modifiers or name == "BMMA":
        return (None,) * 4
    m, n, k = (int(part) for part in shapes[0].groups())
    bits = _element_bits(name, modifiers)
    if bits is None:
        return (None,) * 4
    sum_bits = 64 if name == "DMMA" else 32
    if name in ("HMMA", "QMMA") and "F32" not in modifiers:
        sum_bits = 16
    left, right, total = (
        max(rows * columns * width // _LANES // _REGISTER_BITS, 1)
        for rows, columns, width in ((m, k, bits), (k, n, bits), (m, n, sum_bits))
    )
    return (total, left, right, total)


def _element_bits(name: str, modifiers: Sequence[str]) -> int | None:
    if name == "HMMA":
        return 32 if "TF32" in modifiers else 16
    if name == "IMMA":
        return 4 if {"S4", "U4"} & set(modifiers) else 8
    return _ELEMENT_BITS[name]


def _group_counts(
    name: str, modifiers: Sequence[str], operands: Sequence[Operand]
) -> tuple[int | None, ...]:
    """Registers of the operands, of which those in shared memory are addresses."""
    shapes = [match for word in modifiers if (match := _GROUP_SHAPE.match(word))]
    if not shapes:
        return (None,) * len(operands)
    m, n, k = (int(part) for part in shapes[0].groups())
    bits = 32 if "TF32" in modifiers else _GROUP_BITS[name]
    sum_bits = 16 if name == "HGMMA" and "F32" not in modifiers else 32
    total = m * n * sum_bits // _WARPGROUP // _REGISTER_BITS
    left = m * k * bits // _WARPGROUP // _REGISTER_BITS
    found = [index for index, one in enumerate(operands) if one.kind == "register"]
    # The first register is the result, the last the addend, one between them the left factor.
    return tuple(left if index in found[1:-1] else total for index in range(len(operands)))


def descriptor_count(name: str) -> int | None:
    """Uniform registers of the descriptors of factors in shared memory."""
    return 4 if name in _GROUP_BITS else None
