"""The IR's operators by the names that facts have for them."""

from __future__ import annotations

from typing import Any, Tuple

from . import dialect
from .expressions import is_integer

ARITH = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Mod": "mod",
    "FloorDiv": "div",
    "FloorMod": "mod",
    "Min": "min",
    "Max": "max",
    "LShift": "shift",
    "RShift": "shift",
    "BitwiseAnd": "bitwise",
    "BitwiseOr": "bitwise",
    "BitwiseXor": "bitwise",
}
COMPARE = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})


def contracted(name: str, operands: Tuple[Any, Any], dtype: str) -> Any:
    """The product that a sum computes in the same instruction; None without one.

    Of two in a sum the right one is (TVM's ``LowerIntrin``), of two in a difference the left one
    (LLVM's ``visitFSUBForFMACombine``).
    """
    if name not in ("Add", "Sub") or is_integer(dtype):
        return None
    products = [part for part in operands if dialect.kind(part) == "Mul"]
    return (products[-1] if name == "Add" else products[0]) if products else None
