"""The literal values of names in a file, with which a kernel without arguments is tried.

Keyword arguments of the file's own calls come first, then defaults of options, constants and
tables, then defaults of parameters.  Values are Python expressions as text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator


def literal_values(nodes: Iterable[ast.AST]) -> dict[str, tuple[str, ...]]:
    """The values that the `nodes` of a text give to names, the likeliest arguments first."""
    ranked: dict[str, list[tuple[int, str]]] = {}

    def note(rank: int, name: str | None, value: ast.AST | None) -> None:
        literal = _literal(value)
        if name and literal is not None:
            ranked.setdefault(name, []).append((rank, literal))

    for node in nodes:
        if isinstance(node, ast.Call):
            option = _option(node)
            for keyword in node.keywords:
                if option and keyword.arg == "default":
                    note(1, option, keyword.value)
                elif not option and _is_own(node.func):
                    note(0, keyword.arg, _first(keyword.value))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name, value in _pairs(target, node.value):
                    note(2, name, value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=False):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    note(2, key.value, _first(value))
        elif isinstance(node, ast.FunctionDef):
            positional = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for argument, default in zip(positional, node.args.defaults, strict=False):
                note(3, argument.arg, default)
            for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=False):
                note(3, argument.arg, value)
    return {
        name: tuple(dict.fromkeys(literal for _, literal in sorted(found, key=lambda f: f[0])))[:3]
        for name, found in ranked.items()
    }


def _is_own(function: ast.AST) -> bool:
    """Whether a call may be of the file's own: the `dim` of ``x.sum(dim=-1)`` is no size."""
    if isinstance(function, ast.Attribute):
        return function.attr in ("compile", "get_tir", "specialize")
    return isinstance(function, ast.Name)


def _option(call: ast.Call) -> str | None:
    """The attribute name under which ``add_argument("--seq-len", ...)`` stores its value."""
    if getattr(call.func, "attr", "") != "add_argument":
        return None
    for argument in call.args:
        name = argument.value if isinstance(argument, ast.Constant) else None
        if isinstance(name, str) and (name.startswith("--") or not name.startswith("-")):
            return name.lstrip("-").replace("-", "_")
    return None


def _pairs(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for left, right in zip(target.elts, value.elts, strict=False):
            if isinstance(left, ast.Name) and len(target.elts) == len(value.elts):
                yield left.id, right


def _first(value: ast.AST) -> ast.AST:
    """The first element of a list of alternatives, as in a table of configurations."""
    if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) > 0:
        return value.elts[0] if isinstance(value, ast.List) else value
    return value


def _literal(value: ast.AST | None) -> str | None:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        inner = _literal(value.operand)
        return None if inner is None else "-" + inner
    if isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float)):
        is_size = not isinstance(value.value, int) or value.value.bit_length() < 64
        return repr(value.value) if is_size else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return f'"{value.value}"' if re.fullmatch(r"[\w.\-]+", value.value) else None
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
        is_dtype = value.value.id == "T" and re.fullmatch(r"[a-z]+\d+\w*", value.attr)
        return "T." + value.attr if is_dtype else None
    return None
