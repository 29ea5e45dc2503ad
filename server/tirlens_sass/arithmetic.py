"""The floating-point operations of one execution of an instruction; a multiply-add counts as two.

Shapes are those in the name of the opcode (PTX ISA, "Matrix Multiply-Accumulate Instructions").
"""

from __future__ import annotations

import re

from .instruction import Instruction

# Of one thread.
_SCALAR = {
    **dict.fromkeys(("FADD", "FMUL", "DADD", "DMUL", "FADD32I", "FMUL32I"), 1),
    **dict.fromkeys(("FFMA", "DFMA", "FFMA32I", "HADD2", "HMUL2", "FADD2", "FMUL2"), 2),
    **dict.fromkeys(("HFMA2", "FFMA2"), 4),
}
_WARP_SHAPE = re.compile(r"(8|16)(8|16)(4|8|16|32|64|128|256)$")
_GROUP_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)$")
_WARPS_OF_GROUP = 4


def scalar_operations(instruction: Instruction) -> int:
    """The floating-point operations of one thread; 0 of any other instruction."""
    return _SCALAR.get(instruction.name, 0)


def matrix_operations(instruction: Instruction) -> int | None:
    """The operations of one warp of a matrix product; 0 of any other instruction.

    Of a product by a group of warps it is the part of one. None: a descriptor has the shape.
    """
    name = instruction.name
    if name.startswith("UTC") and name.endswith("MMA"):
        return None
    if not name.endswith("MMA"):
        return 0
    for word in instruction.modifiers:
        if match := _GROUP_SHAPE.match(word):
            m, n, k = map(int, match.groups())
            return 2 * m * n * k // _WARPS_OF_GROUP
        if match := _WARP_SHAPE.match(word):
            m, n, k = map(int, match.groups())
            return 2 * m * n * k
    return None
