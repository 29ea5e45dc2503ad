"""The calls by which a program builds kernels with TVM's API instead of writing them.

``te.create_prim_func``, ``tvm.IRModule``, schedules and their primitives, passes over modules,
compilations, and what earlier versions had in their place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.source.module_names import Names
from tirlens.syntax_trees import child_nodes
from tirlens_worker import framework_names

# Calls that yield a function or module from something else than one.
_ORIGINS = frozenset({"create_prim_func", "create_relax_prim_func", "IRModule", "from_expr"})
# Methods with names of their own, whatever the object.
_ORIGIN_METHODS = frozenset({
    "export_tvm", "from_exported_program", "from_fx", "from_onnx", "from_tflite", "from_stablehlo",
})  # fmt: skip
_COMPILERS = frozenset({"compile", "build", "lower"})
_TUNED = frozenset({"compile_tir", "compile_relax", "tune_tir", "tune_relax"})
# Parts of the paths of functions that return a pass, which is then applied to a module.
_PASS_PARTS = frozenset({"transform", "dlight", "get_pipeline"})
#: Parts of TVM that were removed, by their first modules.
REMOVED_MODULES = ("relay", "auto_scheduler", "autotvm", "autoscheduler")
_REMOVED_CALLS = frozenset({"create_schedule"})
#: The primitives of a schedule that change what a kernel costs by themselves.
STEPS = frozenset({
    "annotate", "bind", "blockize", "cache_inplace", "cache_read", "cache_write", "compute_at",
    "compute_inline", "decompose_padding", "decompose_reduction", "fuse_reduction_epilogue",
    "loop_partition", "merge", "pad_einsum", "parallel", "read_at", "reindex",
    "reindex_cache_read", "reindex_cache_write", "reorder", "reverse_compute_at",
    "reverse_compute_inline", "rfactor", "rolling_buffer", "set_scope", "storage_align",
    "tensorize", "transform_block_layout", "transform_layout", "unroll", "vectorize", "write_at",
})  # fmt: skip
#: Those that do so only with the ones that follow.
PREPARING_STEPS = frozenset({"add_unit_loop", "fuse", "split"})


class Builders:
    """The builder calls of one file: by the paths of its names and by what variables hold."""

    def __init__(self, names: Names, nodes: list[ast.AST]) -> None:
        self._names = names
        self._is_tvm = any(
            path.split(".")[0] in framework_names.MODULES for path in names.aliases.values()
        )
        self._own_passes = {
            node.name
            for node in nodes
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            and any(map(self._is_pass_decorator, node.decorator_list))
        }
        self._passes: set[str] = set()
        self._block_builders: set[str] = set()
        self._schedules: set[str] = {"sch"}
        for node in nodes if self._is_tvm else ():
            self._note_variable(node)

    @property
    def exist(self) -> bool:
        """Whether the file imports a framework that has builders."""
        return self._is_tvm

    def is_origin(self, call: ast.Call) -> bool:
        """Whether `call` yields a function or module from something else than one."""
        path = self._path(call.func)
        if path is not None and _is_of_framework(path) and path.split(".")[-1] in _ORIGINS:
            return True
        if not isinstance(call.func, ast.Attribute):
            return False
        if call.func.attr in _ORIGIN_METHODS:
            return True
        receiver = call.func.value
        is_block_builder = isinstance(receiver, ast.Name) and receiver.id in self._block_builders
        return is_block_builder and call.func.attr in ("get", "finalize")

    def is_builder(self, call: ast.Call) -> bool:
        """Whether `call` yields a kernel, a module, a schedule or a compilation."""
        return self.is_origin(call) or self._is_derived(call) or self.is_removed(call)

    def is_compilation(self, call: ast.Call) -> bool:
        """Whether `call` compiles something that another statement made."""
        path = self._path(call.func)
        return path is not None and path.startswith("tvm.") and path.split(".")[-1] in _COMPILERS

    def is_tensor_expression(self, call: ast.Call) -> bool:
        """Whether `call` yields a tensor, of which no function has been made."""
        if getattr(call.func, "attr", getattr(call.func, "id", "")) != "compute":
            return False
        path = self._path(call.func)
        return path is not None and path.startswith("tvm.") and path.endswith("te.compute")

    def is_removed(self, call: ast.Call) -> bool:
        """Whether `call` is of an API that the supported versions no longer have."""
        path = self._path(call.func)
        if path is None or not _is_of_framework(path):
            return False
        parts = path.split(".")
        return parts[-1] in _REMOVED_CALLS or not set(parts[1:-1]).isdisjoint(REMOVED_MODULES)

    def step(self, call: ast.Call) -> str | None:
        """``sch.reorder`` for a call of a primitive of a schedule."""
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in STEPS | PREPARING_STEPS:
            return None
        receiver = func.value
        if isinstance(receiver, ast.Attribute) and receiver.attr in self._schedules:
            return f"{receiver.attr}.{func.attr}"
        if isinstance(receiver, ast.Name) and receiver.id in self._schedules:
            return f"{receiver.id}.{func.attr}"
        return None

    def _is_derived(self, call: ast.Call) -> bool:
        func = call.func
        if isinstance(func, ast.Call):
            return self._is_pass(func)
        if isinstance(func, ast.Name) and func.id in self._passes:
            return True
        path = self._path(func)
        if path is None or not _is_of_framework(path):
            return False
        return path.split(".")[-1] in ("Schedule", *_TUNED) or self.is_compilation(call)

    def _is_pass(self, call: ast.expr) -> bool:
        """Whether `call` yields a pass: ``relax.transform.LegalizeOps()``."""
        if not isinstance(call, ast.Call):
            return False
        path = self._path(call.func)
        if path is None:
            return False
        if path in self._own_passes:
            return True
        return _is_of_framework(path) and not _PASS_PARTS.isdisjoint(path.split("."))

    def _is_pass_decorator(self, node: ast.expr) -> bool:
        path = self._path(node.func if isinstance(node, ast.Call) else node)
        return path is not None and path.endswith("_pass") and _is_of_framework(path)

    def _note_variable(self, node: ast.AST) -> None:
        """Note what the variable holds that an assignment binds or a parameter is declared as."""
        if isinstance(node, ast.arg):
            path = node.annotation and self._path(node.annotation)
            if path and path.split(".")[-1] == "Schedule":
                self._schedules.add(node.arg)
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            return
        last = (self._path(node.value.func) or "").split(".")[-1]
        if last in ("Schedule", "compile_tir"):
            held = self._schedules
        elif last == "BlockBuilder":
            held = self._block_builders
        elif self._is_pass(node.value):
            held = self._passes
        else:
            return
        for target in node.targets:
            if isinstance(target, ast.Name):
                held.add(target.id)
            elif isinstance(target, ast.Attribute):
                held.add(target.attr)

    def _path(self, node: ast.AST) -> str | None:
        return self._names.dotted_path(node)


def calls_of(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls in a statement that it executes itself, the outermost first."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, (ast.Lambda, ast.FunctionDef, ast.ClassDef)) or node is statement:
            pending.extend(child_nodes(node))


def _is_of_framework(path: str) -> bool:
    head, _, rest = path.partition(".")
    return head in framework_names.MODULES and bool(rest)
