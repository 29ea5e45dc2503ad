"""The target that a program compiles its kernels for, read from its text."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, Mapping, Optional

_COMPILERS = frozenset(["compile", "build"])
_CPU_KINDS = ("llvm", "c")


def cpu_target(tree: ast.AST) -> Optional[Mapping[str, Any]]:
    """The target of all compilations in a program if each is for a CPU, else None."""
    values: Dict[str, List[ast.expr]] = {}
    compilations: List[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _COMPILERS:
            compilations.extend(_target_argument(node))
    targets = [target for node in compilations for target in _constants(node, values)]
    if not targets or not all(str(target.get("kind", "")) in _CPU_KINDS for target in targets):
        return None
    return targets[0]


def _target_argument(call: ast.Call) -> Iterator[ast.expr]:
    for keyword in call.keywords:
        if keyword.arg == "target":
            yield keyword.value
            return
    if len(call.args) > 1:
        yield call.args[1]


def _constants(
    node: ast.expr, values: Mapping[str, List[ast.expr]], depth: int = 3
) -> List[Mapping[str, Any]]:
    """The targets that an expression may be; one of no kind if it is not known."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Target" and node.args:
        node = node.args[0]
    if isinstance(node, ast.Name) and depth and node.id in values:
        return [one for value in values[node.id] for one in _constants(value, values, depth - 1)]
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return [{}]
    if isinstance(value, str):
        return [{"kind": value.split()[0] if value.split() else ""}]
    return [value] if isinstance(value, dict) else [{}]
