"""What was looked for in a file that uses a framework and has no kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tirlens.source.module_names import Names
from tirlens.syntax_trees import DEFINITIONS


def looked_for(nodes: Iterable[ast.AST], names: Names) -> str:
    """What a file without kernels does not have; empty for one that uses no framework."""
    if names.framework is None:
        return ""
    macros = sum(
        "macro" in names.decorators(node) for node in nodes if isinstance(node, DEFINITIONS)
    )
    parts = {0: "", 1: "; its macro is a part of the kernels that call it"}
    of_macros = parts.get(macros, f"; its {macros} macros are parts of the kernels that call them")
    return (
        f"it uses {names.framework}, but has no function under a decorator prim_func, jit, "
        "autotune, function or ir_module of it, or under one that applies such a decorator, and "
        f"no call that builds a kernel{of_macros}"
    )
