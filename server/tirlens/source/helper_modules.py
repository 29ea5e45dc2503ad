"""What a name of a file denotes in a framework, also where a helper module hands it on.

A project imports its framework in one module, under a condition, and its kernels take ``T`` and a
decorator of their own from there. Definitions are followed through the files that the imports
name, as far as these are found in the folders around the file.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from tirlens.file_reader import read_text
from tirlens.syntax_trees import DEFINITIONS, walk
from tirlens_worker import framework_names

_MAX_DEPTH = 4
_MAX_CHARACTERS = 1 << 18
# Modules that are never a project's own helpers.
_LIBRARIES = frozenset({*framework_names.MODULES, "torch", "triton", "numpy", "jax", "cutlass"})
_MAKE_KERNELS = ("jit", "lazy_jit", "eager_jit", "autotune", "prim_func")


@dataclass(frozen=True)
class _Import:
    """The import of `name` of a module, or of the `module` itself; `level` is that of Python."""

    module: str
    name: str | None
    level: int = 0


class Meanings:
    """The meanings of the top-level names of a module.

    Parameters
    ----------
    tree
        The module.
    path
        Its file; None for a text without one, whose imports are not followed.
    """

    def __init__(self, tree: ast.Module, path: Path | None, depth: int = 0) -> None:
        self._tree = tree
        self._path = path
        self._depth = depth
        self._pending: set[str] = set()

    def of(self, name: str) -> str | None:
        """The dotted path of a framework that `name` denotes; None for anything else.

        For a decorator that applies one of a framework, it is the path of that one.
        """
        if name in self._pending or self._depth > _MAX_DEPTH:
            return None
        self._pending.add(name)
        try:
            found = map(self._of_definition, self._bindings.get(name, ()))
            return next(filter(None, found), None) or self._of_star(name)
        finally:
            self._pending.discard(name)

    def _of_definition(self, binding: _Import | ast.AST) -> str | None:
        if isinstance(binding, _Import):
            return self._of_import(binding)
        if isinstance(binding, DEFINITIONS):
            return self._of_decorator(binding)
        return self._path_of(binding)

    def _of_import(self, item: _Import) -> str | None:
        if not item.level and item.module.split(".")[0] in framework_names.MODULES:
            return item.module if item.name is None else f"{item.module}.{item.name}"
        if item.name is None:
            return None
        inside = self._module(item)
        return None if inside is None else inside.of(item.name)

    def _of_star(self, name: str) -> str | None:
        for item in self._bindings.get("*", ()):
            if not isinstance(item, _Import):
                continue
            if not item.level and item.module.split(".")[0] in framework_names.MODULES:
                # What its modules hold is not read: only the names of decorators are theirs alone.
                found = f"{item.module}.{name}" if name in _MAKE_KERNELS else None
            else:
                inside = self._module(item)
                found = None if inside is None else inside.of(name)
            if found is not None:
                return found
        return None

    def _path_of(self, node: ast.AST | None) -> str | None:
        """What an expression denotes: a name, a `partial` of one, a decorator with arguments."""
        if isinstance(node, ast.Name):
            return self.of(node.id)
        if isinstance(node, ast.Attribute):
            base = self._path_of(node.value)
            return None if base is None else f"{base}.{node.attr}"
        if isinstance(node, ast.IfExp):
            return self._path_of(node.body) or self._path_of(node.orelse)
        if isinstance(node, ast.Call):
            callee = node.func
            name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", None)
            if name == "partial" and node.args:
                return self._path_of(node.args[0])
            path = self._path_of(callee)
            return path if path is not None and makes_kernels(path) else None
        return None

    def _of_decorator(self, node: ast.AST) -> str | None:
        """The decorator of a framework that a function or class applies to what it is given."""
        for inner in walk(node):
            path = None
            if isinstance(inner, ast.Return):
                path = self._path_of(inner.value)
            elif isinstance(inner, ast.Call) and any(
                isinstance(item, (ast.Name, ast.Attribute)) for item in inner.args
            ):
                path = self._path_of(inner.func)
            if path is not None and makes_kernels(path):
                return path
        return None

    def _module(self, item: _Import) -> Meanings | None:
        """The module that an import names; None if it is not found around the file."""
        if self._path is None or item.module.split(".")[0] in _LIBRARIES:
            return None
        file = _file_of(self._path, item.module, item.level)
        tree = None if file is None else _tree_of(file)
        return None if tree is None else Meanings(tree, file, self._depth + 1)

    @cached_property
    def _bindings(self) -> Mapping[str, list[_Import | ast.AST]]:
        """What binds each name, in functions too: one that imports late binds a global name."""
        found: dict[str, list[_Import | ast.AST]] = {}
        for node in _statements(self._tree):
            if isinstance(node, ast.Import):
                for item in node.names:
                    head = item.name.split(".")[0]
                    binding = _Import(item.name if item.asname else head, None)
                    found.setdefault(item.asname or head, []).append(binding)
            elif isinstance(node, ast.ImportFrom):
                for item in node.names:
                    binding = _Import(node.module or "", item.name, node.level)
                    found.setdefault(item.asname or item.name, []).append(binding)
            elif isinstance(node, DEFINITIONS):
                found.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(node.value)
        return found


def makes_kernels(path: str) -> bool:
    """Whether a dotted path of a framework is that of a decorator that makes kernels."""
    return path.split(".")[-1] in _MAKE_KERNELS


def used_as_decorators(tree: ast.Module) -> Iterator[str]:
    """The first names of decorators, and of what ``with`` statements open."""
    for node in walk(tree):
        used: Collection[ast.expr] = ()
        if isinstance(node, DEFINITIONS):
            used = node.decorator_list
        elif isinstance(node, ast.With):
            used = [item.context_expr for item in node.items]
        for expression in used:
            current: ast.AST = expression
            while isinstance(current, (ast.Call, ast.Attribute)):
                current = current.func if isinstance(current, ast.Call) else current.value
            if isinstance(current, ast.Name):
                yield current.id


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements of a module, and the imports and assignments in its functions."""
    for node in walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, *DEFINITIONS)):
            yield node


def _file_of(importer: Path, module: str, level: int) -> Path | None:
    """The file of a module that the file `importer` imports; the nearest of absolute names."""
    parts = [part for part in module.split(".") if part]
    folders = importer.absolute().parents
    for folder in folders[level - 1 : level] if level else folders:
        base = folder.joinpath(*parts)
        for file in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if file.is_file():
                return file
        if not level and (folder / ".git").exists():
            return None
    return None


def _tree_of(file: Path) -> ast.Module | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return _parse(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=32)
def _parse(file: Path, changed_ns: int, size: int) -> ast.Module | None:
    try:
        return ast.parse(read_text(file, _MAX_CHARACTERS, errors="replace"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
