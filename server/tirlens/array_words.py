"""Arrays in calls as people write them: ``matmul(1024x1024 float16, 1024x512 float16)``.

Such an argument is a tensor of torch without storage, with this shape and element type.
"""

from __future__ import annotations

import ast
import re

_SHORT = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
_DTYPE = r"(?:b?float|u?int|complex|fp|bf)\d+(?:_e\d+m\d+\w*)?|bool"
# A text in quotes, which is left as it is, or an array.
_PART = re.compile(
    rf"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
    rf"|(?<![\w.])(?P<shape>\d+(?:x\d+)*)\s+(?P<dtype>{_DTYPE})\b"
)


def expand(call: str) -> str:
    """`call` with Python expressions for its arrays, valid in any module."""
    return _PART.sub(_expression, call)


def without_arrays(call: str, word: str) -> str:
    """`call` with `word` in place of its arrays."""
    return _PART.sub(lambda part: word if part["text"] is None else part["text"], call)


def _expression(part: re.Match[str]) -> str:
    if part["text"] is not None:
        return part["text"]
    sizes = part["shape"].split("x")
    shape = ", ".join(sizes) + ("," if len(sizes) == 1 else "")
    dtype = _SHORT.get(part["dtype"], part["dtype"])
    torch = "__import__('torch')"
    return f"{torch}.empty(({shape}), dtype={torch}.{dtype}, device='meta')"


def shorten(call: str) -> str:
    """`call` with its arrays as people write them, the inverse of `expand`."""
    if ".empty(" not in call:
        return call
    try:
        return ast.unparse(_Arrays().visit(ast.parse(call, mode="eval")))
    except (SyntaxError, ValueError, RecursionError):
        return call


class _Arrays(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        words = _words(node)
        return node if words is None else ast.copy_location(ast.Name(words), node)


def _words(node: ast.Call) -> str | None:
    """``1024x1024 float16`` for a tensor without storage; None for another call."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    is_empty = isinstance(node.func, ast.Attribute) and node.func.attr == "empty"
    if not is_empty or set(given) != {"dtype", "device"} or len(node.args) != 1:
        return None
    shape, dtype, device = node.args[0], given["dtype"], given["device"]
    if not isinstance(device, ast.Constant) or device.value != "meta":
        return None
    if not isinstance(dtype, ast.Attribute) or not re.fullmatch(_DTYPE, dtype.attr):
        return None
    sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
    numbers = [item.value for item in sizes if isinstance(item, ast.Constant)]
    if not numbers or len(numbers) < len(sizes) or any(type(size) is not int for size in numbers):
        return None
    return f"{'x'.join(map(str, numbers))} {dtype.attr}"
