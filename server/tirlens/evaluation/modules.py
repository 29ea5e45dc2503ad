"""The modules of a repository: their files, names and imports."""

from __future__ import annotations

import ast
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from tirlens.evaluation.data_files import DataFiles
from tirlens.evaluation.devices import Gpu
from tirlens.evaluation.problem_numbers import files_of_number
from tirlens.evaluation.syntax import Syntax, SyntaxCache
from tirlens.evaluation.values import ModuleScope
from tirlens.file_reader import read_text
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
    gpu
        The GPU of the machine that programs run on.
    syntaxes
        The syntax of files that were parsed before.

    Attributes
    ----------
    data_files
        The other files that the code reads.
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
        syntaxes: SyntaxCache | None = None,
    ) -> None:
        self._root = root
        self.gpu = gpu
        self.gpu_was_asked_for = False
        self.data_files = DataFiles(root)
        self.work = 0
        self.beat = beat
        self._texts = texts or {}
        self._syntaxes = syntaxes or SyntaxCache()
        self._by_name: dict[str, list[str]] = {}
        self._packages: set[tuple[str, ...]] = set()
        for path in files:
            self._by_name.setdefault(module_names(path)[-1], []).append(path)
            if path.endswith("__init__.py"):
                self._packages.add(module_names(path))
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
        scope = self._scopes[path] = self._scope_of(path, Syntax(tree))
        return scope

    def resolve(self, module: ModuleScope, name: str, level: int = 0) -> str | None:
        """The file of the module that `module` imports as `name`, `level` packages above it.

        An absolute name is looked for in every folder of the repository, because the folder that
        holds the packages may have any name; the nearest to the importing file is taken.
        """
        here = list(module_names(module.path))
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
            if list(module_names(path))[-len(wanted) :] == wanted
            and self._is_import_root(module_names(path)[: -len(wanted)], here[:-1])
        ]
        return max(found, key=lambda path: _nearness(path, module.path), default=None)

    def namesakes(self, path: str) -> list[str]:
        """The other files of the name of the file `path`, the nearest first."""
        found = self._by_name.get(module_names(path)[-1], ())
        return sorted(set(found) - {path}, key=lambda other: _nearness(other, path), reverse=True)

    def neighbours(self, path: str) -> list[str]:
        """The other files in the folder of the file `path`, those that begin alike first."""
        folder = PurePosixPath(path).parent
        listed = itertools.chain.from_iterable(self._by_name.values())
        found = (item for item in listed if item != path and PurePosixPath(item).parent == folder)
        return sorted(found, key=lambda item: (-_common_characters(item, path), item))

    def of_number(self, path: str) -> Iterator[str]:
        """The other files with the problem's number of the file `path`, the nearest first."""
        listed = itertools.chain.from_iterable(self._by_name.values())
        nearest = sorted(listed, key=lambda other: _nearness(other, path), reverse=True)
        return files_of_number(path, nearest)

    def _is_import_root(self, folder: tuple[str, ...], importer: list[str]) -> bool:
        """Whether absolute names may start in a folder: it is no package, or the importer's own."""
        return folder not in self._packages or list(folder) == importer

    def _exact(self, names: list[str]) -> str | None:
        if not names:
            return None
        found = (
            path for path in self._by_name.get(names[-1], ()) if list(module_names(path)) == names
        )
        return next(found, None)

    def _read(self, path: str) -> ModuleScope | None:
        self.beat()
        try:
            if path in self._texts:
                syntax = _parse(self._texts[path])
            elif self._root is not None:
                file = self._root / path
                syntax = self._syntaxes.get(path, lambda: _parse(_read_text(file)))
            else:
                return None
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        self.work += syntax.characters // _CHARACTERS_OF_AN_EXPRESSION
        return self._scope_of(path, syntax)

    def _scope_of(self, path: str, syntax: Syntax) -> ModuleScope:
        is_package = PurePosixPath(path).name == "__init__.py"
        names = module_names(path)
        # The folders above the outermost package are no part of the name.
        root = len(names) - 1
        while root > 0 and names[:root] in self._packages:
            root -= 1
        import_name = ".".join(names[root:])
        return ModuleScope(path, ".".join(names), import_name, syntax, is_package)


def _read_text(file: Path) -> str:
    return read_text(file, _MAX_CHARACTERS, errors="replace", limit_s=None)


def _parse(text: str) -> Syntax:
    if len(text) > _MAX_CHARACTERS:
        raise ValueError(f"it has more than {_MAX_CHARACTERS} characters")
    return Syntax(ast.parse(text), len(text))


def module_names(path: str) -> tuple[str, ...]:
    """``("package", "module")`` for ``package/module.py``, without ``__init__``."""
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def _common_characters(one: str, other: str) -> int:
    """The number of characters with which two paths begin alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _nearness(path: str, other: str) -> tuple[int, int]:
    """The number of leading folders that two files share, and the shortness of the path."""
    shared = 0
    for left, right in zip(path.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        shared += 1
    return shared, -len(path)
