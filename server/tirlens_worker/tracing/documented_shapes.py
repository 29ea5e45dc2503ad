"""The shapes of arrays that the documentation of a function gives, in the names of their sizes."""

from __future__ import annotations

import ast
import re
from typing import Dict, Mapping, Tuple

# A parameter begins a line: ``x : Tensor`` and ``x (Tensor): The input.``
_PARAMETER = re.compile(r"^[ \t]*\*{0,2}(\w+)[ \t]*(?:\([^)\n]*\))?[ \t]*:", re.MULTILINE)
_SHAPE = re.compile(r"[Ss]hape:?\s+(?:is\s+|of\s+)?`*[(\[]([\w\s,]+)[)\]]")


def documented_shapes(definition: ast.FunctionDef) -> Mapping[str, Tuple[str, ...]]:
    """The sizes of the parameters of `definition` by name, the first that its text gives.

    A size is a name or a number: ``The weight, of shape (experts, 64)``.
    """
    text = ast.get_docstring(definition) or ""
    names = {item.arg for item in definition.args.args + definition.args.kwonlyargs}
    starts = list(_PARAMETER.finditer(text))
    ends = [found.start() for found in starts[1:]] + [len(text)]
    shapes: Dict[str, Tuple[str, ...]] = {}
    for found, end in zip(starts, ends):
        shape = _SHAPE.search(text, found.end(), end) if found[1] in names else None
        if shape is not None:
            sizes = [size.strip() for size in shape[1].split(",")]
            shapes[found[1]] = tuple(
                size if size.isidentifier() or size.isdigit() else "_" for size in sizes if size
            )
    return shapes
