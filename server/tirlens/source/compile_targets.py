"""The targets that a text compiles its kernels for, as its literals have them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

_COMPILERS = frozenset({"compile", "build"})
# Of such a module, `compile` is about something else.
_OTHER_MODULES = frozenset({"re", "torch", "jax", "builtins"})
_MAX_DEPTH = 3
_MAX_TARGETS = 16


def compile_targets(nodes: Iterable[ast.AST]) -> tuple[Mapping[str, Any], ...]:
    """The targets of the compilations in a text, and of its ``with Target(...):`` statements.

    Returns
    -------
    Distinct targets in the order of the text, each with the attributes that it states, or with
    ``tag`` alone (``nvidia/geforce-rtx-3080``); an empty one where the text does not tell.
    """
    values: dict[str, list[ast.expr]] = {}
    found: list[ast.expr] = []
    contexts: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.Call):
            found.extend(_argument(node))
        elif isinstance(node, ast.withitem):
            contexts.append(node.context_expr)
    found.extend(node for node in contexts if _is_target(node) or _is_named_target(node, values))
    known: list[Mapping[str, Any]] = []
    for node in found:
        for target in _literals(node, values):
            if target not in known:
                known.append(target)
    return tuple(known[:_MAX_TARGETS])


def _argument(call: ast.Call) -> Iterator[ast.expr]:
    """The target of a compilation, that of a jitted function among them."""
    function = call.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    if name not in (*_COMPILERS, "jit"):
        return
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        if function.value.id in _OTHER_MODULES:
            return
    elif isinstance(function, ast.Name):
        # The builtin `compile`.
        return
    for keyword in call.keywords:
        if keyword.arg == "target":
            yield keyword.value
            return
    if len(call.args) > 1 and name in _COMPILERS:
        yield call.args[1]


def _is_target(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Target"


def _is_named_target(node: ast.expr, values: Mapping[str, Sequence[ast.expr]]) -> bool:
    """Whether `node` is a name that the text gives to a target."""
    return isinstance(node, ast.Name) and any(map(_is_target, values.get(node.id, ())))


def _literals(
    node: ast.expr, values: Mapping[str, Sequence[ast.expr]], depth: int = _MAX_DEPTH
) -> Iterator[Mapping[str, Any]]:
    """The targets that an expression may be; an empty one if it is not known."""
    if isinstance(node, ast.Call) and node.args and _is_target(node):
        node = node.args[0]
    if isinstance(node, ast.Name) and depth and node.id in values:
        for value in values[node.id]:
            yield from _literals(value, values, depth - 1)
        return
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        yield {}
        return
    if isinstance(value, str):
        yield _of_text(value)
    elif isinstance(value, dict):
        yield {
            str(key): item
            for key, item in cast("dict[Any, Any]", value).items()
            if isinstance(item, (str, int, list))
        }
    elif value is not None:
        yield {}


def _of_text(text: str) -> dict[str, Any]:
    """The attributes in ``llvm -mcpu=skylake-avx512``, the form of TVM before 0.21."""
    kind, *options = text.split() or [""]
    if kind == "auto":
        return {}
    found: dict[str, Any] = {"tag": kind} if "/" in kind else {"kind": kind}
    for option in options:
        name, _, value = option.lstrip("-").partition("=")
        found[name] = int(value) if value.isdigit() else value
    return found
