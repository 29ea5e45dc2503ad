"""The IR's operators by the names that facts have for them."""

from __future__ import annotations

from typing import Any, Tuple

from .. import ops
from . import dialect
from .expressions import bare, is_integer

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


def is_fixed(node: Any) -> bool:
    """Whether a value is made of constants alone: the compiler computes ``-inf * 2``."""
    name = dialect.kind(node)
    if name in ("Broadcast", "Cast"):
        return is_fixed(node.value)
    if name in ARITH:
        return is_fixed(node.a) and is_fixed(node.b)
    if name == "Call":
        full = dialect.op_name(node)
        known = bare(full) == "infinity" or ops.scalar(full) is not None
        return known and all(map(is_fixed, node.args))
    return name in ("IntImm", "FloatImm", "StringImm")
