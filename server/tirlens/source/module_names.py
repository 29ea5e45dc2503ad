"""The meaning of the names in a file, from its imports and decorators."""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tirlens.source.helper_modules import Meanings, used_as_decorators
from tirlens.syntax_trees import FunctionNode, bound_names
from tirlens_worker import framework_names

# Words in the names of packages that build kernels of TVM: `tvm_ops`, `tirx_kernels`.
_TVM_WORDS = frozenset({"tvm", "tir", "tirx", "tilelang"})
# The frameworks in the order in which a file's imports decide: tilelang brings its own tvm, and
# the package of TIRx is imported beside tvm for comparisons alone.
_PRECEDENCE = ("tvm_tirx", "tilelang", "tvm")


@dataclass(frozen=True)
class Names:
    """The names of a module.

    `aliases` maps each imported name to its dotted path.  `module_level` are the names that the
    module's own statements bind, and that an expression evaluated in the module may use.
    `handed_on` are the aliases that other modules of the project give.
    """

    aliases: Mapping[str, str]
    module_level: frozenset[str]
    handed_on: Mapping[str, str] = field(default_factory=dict[str, str])

    def dotted_path(self, node: ast.AST) -> str | None:
        """The full dotted path of a name or attribute chain."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        parts.append(self.aliases.get(node.id, node.id))
        return ".".join(reversed(parts))

    def decorator(self, node: ast.expr) -> str | None:
        """``prim_func ir_module jit autotune macro``, or None for any other decorator.

        ``prim_func`` and ``ir_module`` are taken by their last name alone, for they often come
        through a project's own module; ``jit`` must come from a framework.  A ``kernel`` of a
        package on top of TVM builds a function, too (``@K.kernel(warps=4)``).
        """
        path = self.dotted_path(node.func if isinstance(node, ast.Call) else node)
        if path is None:
            return None
        head, last = path.split(".")[0], path.split(".")[-1]
        if last in ("prim_func", "ir_module"):
            return None if self._is_of_other_language(path) else last
        if last == "kernel" and self._is_on_tvm(path):
            return "prim_func"
        ours = head in framework_names.MODULES or head == "T"
        if last == "function" and self._is_of_tirx(path):
            return "prim_func"
        if ours and last in ("jit", "lazy_jit", "eager_jit"):
            return "specialized" if path.startswith("tvm") else "jit"
        if ours and last == "autotune":
            return "autotune"
        if last in ("macro", "inline") and ours:
            return "macro"
        return None

    def _is_on_tvm(self, path: str) -> bool:
        """Whether `path` is in an imported package whose name has that of TVM in it."""
        return self._is_imported(path) and not _TVM_WORDS.isdisjoint(re.split(r"[._]", path))

    def is_function_of_tirx(self, node: FunctionNode) -> bool:
        """Whether a definition is a ``T.function``, which returns a value only to other code."""
        paths = (
            self.dotted_path(item.func if isinstance(item, ast.Call) else item)
            for item in node.decorator_list
        )
        return any(
            path is not None and path.endswith(".function") and self._is_of_tirx(path)
            for path in paths
        )

    def _is_of_tirx(self, path: str) -> bool:
        """Whether `path` is a name of TIRx, whose functions are kernels (``T.function``)."""
        is_named = "tirx" in path.split(".") and path.split(".")[0] in framework_names.MODULES
        return is_named or (path.startswith("T.") and self.framework == "tvm_tirx")

    def _is_of_other_language(self, path: str) -> bool:
        """Whether `path` is in an imported package that has nothing to do with TVM."""
        return self.framework is None and self._is_imported(path) and not self._is_on_tvm(path)

    def is_unknown(self, decorator: ast.expr) -> bool:
        """Whether a decorator is imported from a module whose text is not known."""
        path = self.dotted_path(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if path is None or path.split(".")[0] in sys.stdlib_module_names:
            return False
        return self._is_imported(path) and not _is_of_framework(path)

    def _is_imported(self, path: str) -> bool:
        return any(f"{path}.".startswith(f"{known}.") for known in self.aliases.values())

    def decorators(self, node: FunctionNode | ast.ClassDef) -> frozenset[str]:
        """The kinds of all decorators of a definition."""
        kinds = (self.decorator(item) for item in node.decorator_list)
        return frozenset(kind for kind in kinds if kind is not None)

    def is_kernel_frame(self, node: ast.expr) -> bool:
        """Whether a `with` item opens a tilelang kernel (``T.Kernel(...)``)."""
        if not isinstance(node, ast.Call):
            return False
        path = self.dotted_path(node.func)
        return path is not None and path.split(".")[-1].endswith("Kernel")

    @property
    def framework(self) -> str | None:
        """The framework that the file imports; None where it imports none."""
        heads = {path.split(".")[0] for path in self.aliases.values()}
        return next((name for name in _PRECEDENCE if name in heads), None)

    def framework_import(self, tree: ast.Module) -> ast.stmt | None:
        """The first import of the framework; None where the file imports none."""
        wanted = self.framework
        for node in _imports(tree):
            names = (
                [item.name for item in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
            )
            if any(name.split(".")[0] == wanted for name in names):
                return node
        return None

    @property
    def torch(self) -> str:
        """An expression for the module `torch` that is valid in the file's module."""
        for name, path in self.aliases.items():
            if path == "torch" and name in self.module_level:
                return name
        return "__import__('torch')"


def names_of(tree: ast.Module, path: Path | None = None) -> Names:
    """The names of a file, from all of its imports and its top-level statements.

    Those that its helper modules hand on are followed from its `path`.
    """
    aliases: dict[str, str] = {}
    for node in _imports(tree):
        for name, path_of_name in _import_bindings(node):
            # The other import of a condition, or of a handler, denotes the same.
            if not _is_of_framework(aliases.get(name)) or _is_of_framework(path_of_name):
                aliases[name] = path_of_name
    meanings = Meanings(tree, path)

    def follow(names: Iterable[str]) -> dict[str, str]:
        found = {
            name: meanings.of(name) for name in names if not _is_of_framework(aliases.get(name))
        }
        return {name: meaning for name, meaning in found.items() if meaning is not None}

    followed = follow(frozenset(used_as_decorators(tree)))
    handed_on: dict[str, str] = {}
    for node in _imports(tree) if followed else ():
        names = {item.asname or item.name for item in node.names}
        if not names.isdisjoint(followed):
            # A helper that hands on the language hands on its package, too.
            handed_on |= follow(names)
    bound = frozenset(bound_names(tree.body))
    return Names({**aliases, **followed, **handed_on}, bound, handed_on)


def _import_bindings(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, with their dotted paths; none of a relative import."""
    if isinstance(node, ast.Import):
        for item in node.names:
            head = item.name.split(".")[0]
            yield item.asname or head, item.name if item.asname else head
    elif node.module and not node.level:
        for item in node.names:
            yield item.asname or item.name, f"{node.module}.{item.name}"


def _is_of_framework(path: str | None) -> bool:
    return path is not None and path.split(".")[0] in framework_names.MODULES


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports, those in functions too, in the order of an `ast.walk` over statements alone."""
    pending: deque[ast.AST] = deque([tree])
    while pending:
        node = pending.popleft()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                pending.extend(inner)  # pyright: ignore[reportUnknownArgumentType]
