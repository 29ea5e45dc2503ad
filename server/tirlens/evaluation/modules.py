"""The modules of a repository: their files, names and imports."""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from tirlens.evaluation.data_files import DataFiles
from tirlens.evaluation.devices import Gpu
from tirlens.evaluation.values import Conditions, ModuleScope
from tirlens.file_reader import read_text
from tirlens.syntax_trees import bound_names
from tirlens_worker import framework_names

_MAX_CHARACTERS = 1 << 20
# That many are parsed in the time of one expression's evaluation.
_CHARACTERS_OF_AN_EXPRESSION = 8
# Their code is never evaluated, in their own repositories either.
_LIBRARIES = {*framework_names.MODULES, "torch", "numpy", "triton", "pytest", "transformers"}


class Modules:
    """The modules below a root, parsed when they are first used.

    Parameters
    ----------
    root
        The folder of the repository; None for modules without a file.
    files
        The paths of its Python files relative to it.
    texts
        Texts that replace those on disk, by relative path: the documents open in an editor.
    beat
        Called at each step, so that a watch sees that there are steps.

    Attributes
    ----------
    data_files
        The other files that the code reads.
    gpu
        The GPU of the machine that programs run on.
    gpu_was_asked_for : bool
        Whether a program has asked for it.
    work : int
        The work done with these modules: expressions that were evaluated, and for code that was
        parsed as many as take as long.
    """

    def __init__(
        self,
        root: Path | None,
        files: Iterable[str],
        texts: Mapping[str, str] | None,
        beat: Callable[[], None],
        gpu: Gpu,
    ) -> None:
        self._root = root
        self.gpu = gpu
        self.gpu_was_asked_for = False
        self.data_files = DataFiles(root)
        self.work = 0
        self.beat = beat
        self._texts = texts or {}
        self._by_name: dict[str, list[str]] = {}
        self._packages: set[tuple[str, ...]] = set()
        for path in files:
            self._by_name.setdefault(_names(path)[-1], []).append(path)
            if path.endswith("__init__.py"):
                self._packages.add(_names(path))
        self._scopes: OrderedDict[str, ModuleScope | None] = OrderedDict()

    @property
    def read_files(self) -> frozenset[str]:
        """The paths of the modules that were used."""
        return frozenset(self._scopes)

    def scope(self, path: str) -> ModuleScope | None:
        """The module in the file `path`; None if it cannot be read or parsed."""
        if path not in self._scopes:
            self._scopes[path] = self._read(path)
        return self._scopes[path]

    def add(self, path: str, tree: ast.Module) -> ModuleScope:
        """A module whose text has been parsed already."""
        scope = self._scopes[path] = self._scope_of(path, tree)
        return scope

    def words_of(self, path: str) -> set[str]:
        """The names by which files know the module in the file `path`: its own, its packages'."""
        names = _names(path)
        packages = {names[n - 1] for n in range(1, len(names)) if names[:n] in self._packages}
        return {names[-1], *packages}

    def resolve(self, module: ModuleScope, name: str, level: int = 0) -> str | None:
        """The file of the module that `module` imports as `name`, `level` packages above it.

        An absolute name is looked for in every folder of the repository, because the folder that
        holds the packages may have any name; the nearest to the importing file is taken.
        """
        here = list(_names(module.path))
        if level:
            base = here if module.is_package else here[:-1]
            base = base[: len(base) - (level - 1)] if level > 1 else base
            wanted = [*base, *name.split(".")] if name else base
            return self._exact(wanted)
        wanted = name.split(".")
        if wanted[0] in _LIBRARIES:
            return None
        found = [
            path
            for path in self._by_name.get(wanted[-1], ())
            if list(_names(path))[-len(wanted) :] == wanted
            and self._is_import_root(_names(path)[: -len(wanted)], here[:-1])
        ]
        return max(found, key=lambda path: _nearness(path, module.path), default=None)

    def _is_import_root(self, folder: tuple[str, ...], importer: list[str]) -> bool:
        """Whether absolute names may start in a folder: it is no package, or the importer's own."""
        return folder not in self._packages or list(folder) == importer

    def _exact(self, names: list[str]) -> str | None:
        if not names:
            return None
        found = (path for path in self._by_name.get(names[-1], ()) if list(_names(path)) == names)
        return next(found, None)

    def _read(self, path: str) -> ModuleScope | None:
        self.beat()
        try:
            text = self._texts.get(path)
            if text is None:
                if self._root is None:
                    return None
                text = read_text(self._root / path, _MAX_CHARACTERS, errors="replace", limit_s=None)
            if len(text) > _MAX_CHARACTERS:
                return None
            self.work += len(text) // _CHARACTERS_OF_AN_EXPRESSION
            tree = ast.parse(text)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return self._scope_of(path, tree)

    def _scope_of(self, path: str, tree: ast.Module) -> ModuleScope:
        is_package = PurePosixPath(path).name == "__init__.py"
        names = _names(path)
        # The folders above the outermost package are no part of the name.
        root = len(names) - 1
        while root > 0 and names[:root] in self._packages:
            root -= 1
        import_name = ".".join(names[root:])
        bindings, conditions = _bindings(tree)
        name = ".".join(names)
        return ModuleScope(path, name, import_name, tree, bindings, is_package, conditions)


def _names(path: str) -> tuple[str, ...]:
    """``("package", "module")`` for ``package/module.py``, without ``__init__``."""
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def _nearness(path: str, other: str) -> tuple[int, int]:
    """The number of leading folders that two files share, and the shortness of the path."""
    shared = 0
    for left, right in zip(path.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        shared += 1
    return shared, -len(path)


def _bindings(
    tree: ast.Module,
) -> tuple[dict[str, list[ast.stmt]], dict[ast.stmt, Conditions]]:
    """The statements that bind or change each name, and the conditions of those that have any."""
    found: dict[str, list[ast.stmt]] = {}
    conditions: dict[ast.stmt, Conditions] = {}
    for statement, required in _statements(tree.body):
        if required:
            conditions[statement] = required
        for name in {*bound_names([statement]), *_changed_names(statement)}:
            found.setdefault(name, []).append(statement)
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            found.setdefault("*", []).append(statement)
    return found, conditions


def _statements(
    body: list[ast.stmt], conditions: Conditions = ()
) -> Iterator[tuple[ast.stmt, Conditions]]:
    """The top-level statements, with those of `if` and `try` in place of these."""
    for statement in body:
        if isinstance(statement, ast.If) and not _is_main_guard(statement):
            yield from _statements(statement.body, (*conditions, (statement.test, True)))
            yield from _statements(statement.orelse, (*conditions, (statement.test, False)))
        elif isinstance(statement, ast.Try):
            # The names of a handler are those of a module that is not installed.
            for handler in statement.handlers:
                yield from _statements(handler.body, conditions)
            inside = [*statement.body, *statement.orelse, *statement.finalbody]
            yield from _statements(inside, conditions)
        elif not isinstance(statement, ast.If):
            yield statement, conditions


def _is_main_guard(statement: ast.If) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
    )


def _changed_names(statement: ast.stmt) -> Iterator[str]:
    """``a`` for ``a.append(1)``, ``a["key"] = 1``, ``a += [1]`` and ``register(a)``."""
    target: ast.expr | None = None
    if isinstance(statement, ast.For) and not isinstance(statement.iter, ast.Call):
        # A loop that registers each of several classes.
        yield from (node.id for node in ast.walk(statement.iter) if isinstance(node, ast.Name))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        target = statement.value.func
        yield from (item.id for item in statement.value.args if isinstance(item, ast.Name))
    elif isinstance(statement, ast.Assign):
        target = statement.targets[0]
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
        if isinstance(target, ast.Name):
            yield target.id
