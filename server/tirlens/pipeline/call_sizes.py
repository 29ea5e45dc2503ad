"""The sizes of a call: the arguments on which the shapes of a kernel's arrays depend."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from tirlens.model.report import ArrayShape, KernelReport
from tirlens.source.source_file import KernelSource


def sizes_of(kernel: KernelSource | None, report: KernelReport) -> dict[str, int]:
    """The sizes by name, in the order of the parameters; empty where one of them is not known.

    They are arguments of the call (``matmul(1024, 1024, K=512)``), sizes of dynamic dimensions, or
    dimensions of arrays in the call.
    """
    if kernel is None or not kernel.sizes:
        return {}
    given = {
        **dict(_dimensions(kernel.dimensions, report.arrays)),
        **dict(_arguments(report.call, kernel.parameters)),
        **report.bindings,
    }
    found = {name: given.get(name, default) for name, default in kernel.sizes.items()}
    known = {name: size for name, size in found.items() if type(size) is int}
    return known if len(known) == len(found) else {}


def _dimensions(
    names: Mapping[str, tuple[str, ...]], arrays: Iterable[ArrayShape]
) -> Iterator[tuple[str, int]]:
    """The sizes of the dimensions that have names."""
    for array in arrays:
        known = names.get(array.name, ())
        if array.shape is not None and len(known) == len(array.shape):
            yield from zip(known, array.shape, strict=True)


def _arguments(call: str, parameters: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The arguments that are literals, by the names of their parameters."""
    node = _parse(call)
    while isinstance(node, ast.Call):
        # The inner call of ``build(64)(4096)`` is the factory's.
        for name, argument in zip(parameters, node.args, strict=False):
            if isinstance(argument, ast.Constant):
                yield name, argument.value
        for keyword in node.keywords:
            if keyword.arg is not None and isinstance(keyword.value, ast.Constant):
                yield keyword.arg, keyword.value.value
        node = node.func


@lru_cache(maxsize=1024)
def _parse(call: str) -> ast.expr | None:
    try:
        return ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
