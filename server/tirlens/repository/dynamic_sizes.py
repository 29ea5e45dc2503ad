"""The sizes of dynamic dimensions of a kernel, from the arrays with which it is called."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from tirlens.repository.definitions import definition
from tirlens.repository.tensor_shapes import Tensor
from tirlens.repository.values import GoalCall
from tirlens.source.module_names import FunctionNode, parameters

_SYMBOLS = ("dynamic", "symbolic", "var", "Var", "int32", "int64")
# The dimensions of each parameter: the name of the size, or None.
Dimensions = tuple[tuple[str | None, ...], ...]


def dynamic_dimensions(tree: ast.Module, name: str) -> Dimensions:
    """The dynamic dimensions of the arrays that the kernel of the factory `name` takes."""
    factory = definition(tree, name)
    if factory is None:
        return ()
    names = dict(_symbols(factory))
    inner = [
        node
        for node in ast.walk(factory)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node is not factory
    ]
    for function in inner:
        found = tuple(_dimensions(item.annotation, names) for item in parameters(function))
        if any(any(dimensions) for dimensions in found):
            return found
    return ()


def sizes_of(call: GoalCall, dimensions: Dimensions) -> dict[str, int]:
    """The sizes that the arrays of a call of the compiled kernel give to dynamic dimensions."""
    out: dict[str, int] = {}
    positional, _ = call.inner or ([], {})
    for value, names in zip(positional, dimensions, strict=False):
        if isinstance(value, Tensor) and len(value.shape) == len(names):
            for size, name in zip(value.shape, names, strict=True):
                if name is not None and type(size) is int and size > 0:
                    out.setdefault(name, size)
    return out


def typical_sizes(found: Sequence[dict[str, int]]) -> dict[str, int]:
    """Those of several sets of sizes that have the median product."""
    most = max((len(one) for one in found), default=0)
    whole = sorted(
        (one for one in found if len(one) == most), key=lambda one: math.prod(one.values())
    )
    return whole[len(whole) // 2] if whole else {}


def _symbols(factory: FunctionNode) -> Iterator[tuple[str, str]]:
    """``n = T.dynamic("num_tokens")`` as ``("n", "num_tokens")``; several at once, too."""
    for node in ast.walk(factory):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _SYMBOLS:
            continue
        words = [item.value for item in call.args if isinstance(item, ast.Constant)]
        if not words or not isinstance(words[0], str):
            continue
        symbols = [word.strip() for word in words[0].split(",")]
        target = node.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        for item, symbol in zip(targets, symbols, strict=False):
            if isinstance(item, ast.Name):
                yield item.id, symbol


def _dimensions(annotation: ast.expr | None, names: dict[str, str]) -> tuple[str | None, ...]:
    """The dimensions of ``T.Tensor((n, 128), dtype)`` or ``T.Tensor[(n, 128), dtype]``."""
    shape: ast.expr | None = None
    if isinstance(annotation, ast.Call) and annotation.args:
        shape = annotation.args[0]
    elif isinstance(annotation, ast.Subscript):
        given = annotation.slice
        shape = given.elts[0] if isinstance(given, ast.Tuple) and given.elts else given
    if not isinstance(shape, (ast.Tuple, ast.List)):
        return ()
    return tuple(names.get(item.id) if isinstance(item, ast.Name) else None for item in shape.elts)
