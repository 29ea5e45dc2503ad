"""Calls as they are displayed: imports and local functions of captured calls by their names."""

from __future__ import annotations

import ast
import functools

from tirlens import array_words

_IMPORT = "__import__"
# Of ``types.FunctionType(code, globals, name, defaults, closure)``.
_NAME, _CLOSURE = 2, 4


@functools.lru_cache(maxsize=4096)
def readable(call: str) -> str:
    """`call` without what makes it an expression of its module only.

    ``__import__('ops.activations', fromlist=['x']).Mish.op`` is ``Mish.op``. A function made of its
    code is its name, with the values that it encloses in brackets. A tensor without storage is
    ``1024x1024 float16``.
    """
    call = array_words.shorten(call)
    if _IMPORT not in call:
        return call
    try:
        return ast.unparse(_Names().visit(ast.parse(call, mode="eval")))
    except (SyntaxError, ValueError, RecursionError):
        return call


class _Names(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if _is_import(node.value):
            return ast.copy_location(ast.Name(node.attr), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        callee = node.func
        if not (isinstance(callee, ast.Name) and callee.id == "FunctionType"):
            return node
        name = node.args[_NAME] if len(node.args) > _NAME else None
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            return node
        out: ast.expr = ast.Name("lambda" if name.value == "<lambda>" else name.value)
        cells = node.args[_CLOSURE] if len(node.args) > _CLOSURE else None
        if isinstance(cells, ast.Tuple):
            values = [cell.args[0] for cell in cells.elts if isinstance(cell, ast.Call)]
            inner = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
            out = ast.Subscript(out, inner, ast.Load())
        return ast.copy_location(out, node)


def _is_import(node: ast.expr) -> bool:
    callee = node.func if isinstance(node, ast.Call) else None
    return isinstance(callee, ast.Name) and callee.id == _IMPORT
