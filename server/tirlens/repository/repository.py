"""The calls of the kernels of open files in their repository."""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import platformdirs

from tirlens.repository.search import find_calls
from tirlens.repository.search_result import Search, Target
from tirlens.repository.search_store import SearchStore
from tirlens.repository.word_index import WordIndex
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.protocol import CallCandidate

_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_MAIN_GUARD = re.compile(r"if\s*\(?\s*__name__\b")
# With a candidate from its own file a kernel needs none from others.
_CERTAIN = frozenset(
    {"directive", "option", "settings", "typecheck", "call-site", "module-level", "captured"}
)


class Repository:
    """The calls of kernels in one folder and below.

    Parameters
    ----------
    root
        The folder.
    store
        The file that stores the index between runs; None for the user's cache folder.
    pause
        Called at each step of a search; returns when the search may go on.
    """

    def __init__(
        self, root: Path, store: Path | None = None, pause: Callable[[], None] = lambda: None
    ) -> None:
        self.root = root
        self._pause = pause
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        folder = platformdirs.user_cache_path("tirlens") / "repositories"
        store = store or folder / f"{name}.sqlite"
        self._index = WordIndex(root, store)
        self._store = SearchStore(self._index, store)
        self._found: dict[Target, Search] = {}
        self._lock = threading.Lock()

    def refresh(self, say: Callable[[int], None] = lambda count: None) -> bool:
        """Read the files that have changed; whether a search has to be made again."""
        changed = self._index.refresh(say)
        with self._lock:
            before = len(self._found)
            self._found = {
                target: search
                for target, search in self._found.items()
                if not self._concerns(changed - {target.path}, target, search)
            }
            return len(self._found) < before

    def _concerns(self, changed: frozenset[str], target: Target, search: Search) -> bool:
        """Whether a change of files may change the result of a search."""
        if any(_stamp(self.root / path) != stamp for path, stamp in search.data_files.items()):
            return True
        if not changed:
            return False
        name = target.name.rpartition(".")[2]
        return bool(changed & search.files) or bool(
            changed.intersection(self._index.files_with(name))
        )

    def depends_on(self, source: SourceFile, path: Path, files: frozenset[str]) -> bool:
        """Whether calls that were found for the kernels of `path` may be others if `files` are.

        The files are named by their paths relative to the root.
        """
        with self._lock:
            found = dict(self._found)
        targets = self._targets(source, path)
        return any(self._concerns(files, item, found[item]) for item in targets if item in found)

    def with_calls(
        self, source: SourceFile, path: Path, texts: Mapping[str, str] | None = None
    ) -> SourceFile:
        """`source` with the calls of its kernels in other files as candidates for arguments.

        Parameters
        ----------
        source
            The kernels of the file `path`.
        path
            The file, in the repository.
        texts
            Texts that replace those on disk, by path relative to the root.
        """
        targets = self._targets(source, path)
        searches = self._search([item for item in targets if item is not None], texts)
        kernels = tuple(
            kernel if target is None else self._with_calls(kernel, searches[target])
            for kernel, target in zip(source.kernels, targets, strict=True)
        )
        return replace(source, kernels=kernels)

    def _targets(self, source: SourceFile, path: Path) -> list[Target | None]:
        """The function that gives each kernel its arguments; None where none is searched for."""
        try:
            relative = path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return [None] * len(source.kernels)
        names = _names_of(source)
        return [
            _target(kernel, relative) if _takes_calls(kernel, names) else None
            for kernel in source.kernels
        ]

    def _with_calls(self, kernel: KernelSource, search: Search) -> KernelSource:
        calls = [
            CallCandidate(
                call.expression,
                "repository",
                replace(call.span, file=str(self.root / (call.span.file or ""))),
                bindings=call.bindings,
            )
            for call in search.calls
        ]
        return replace(kernel, candidates=(*calls, *_own(kernel)), hints=search.values)

    def _search(
        self, targets: Sequence[Target], texts: Mapping[str, str] | None
    ) -> dict[Target, Search]:
        with self._lock:
            known = {item: self._found[item] for item in targets if item in self._found}
        new = [target for target in dict.fromkeys(targets) if target not in known]
        found: dict[Target, Search] = {}
        if texts is None and new:
            found = self._store.find(new)
            found = {
                target: search
                for target, search in found.items()
                if not self._concerns(frozenset(), target, search)
            }
        missing = [target for target in new if target not in found]
        if missing:
            searched = find_calls(self._index, missing, texts, self._pause)
            found |= searched
            if texts is None:
                self._store.add(searched)
        with self._lock:
            self._found |= found
        return known | found


def _stamp(path: Path) -> int:
    """The time of the last change of a file; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def searched_kernels(source: SourceFile) -> frozenset[str]:
    """The names of the kernels whose calls are searched in other files.

    The root and the place of the file do not matter.
    """
    names = _names_of(source)
    return frozenset(
        kernel.name
        for kernel in source.kernels
        if _takes_calls(kernel, names) and _target(kernel, "") is not None
    )


def merge_calls(source: SourceFile, found: SourceFile) -> SourceFile:
    """`source` with the calls that were found for kernels of these names in an earlier text."""
    calls = {
        kernel.name: (
            [item for item in kernel.candidates if item.source == "repository"],
            kernel.hints,
        )
        for kernel in found.kernels
    }
    kernels: list[KernelSource] = []
    names = _names_of(source)
    for kernel in source.kernels:
        repository_calls, hints = calls.get(kernel.name, ([], {}))
        if _takes_calls(kernel, names) and (repository_calls or hints):
            kernels.append(
                replace(kernel, candidates=(*repository_calls, *_own(kernel)), hints=hints)
            )
        else:
            kernels.append(kernel)
    return replace(source, kernels=tuple(kernels))


def _own(kernel: KernelSource) -> tuple[CallCandidate, ...]:
    """The candidates of the kernel's own file."""
    return tuple(item for item in kernel.candidates if item.source != "repository")


def _takes_calls(kernel: KernelSource, names: frozenset[str]) -> bool:
    """Whether a kernel takes calls of other files: nothing in its own file gives its arguments.

    A call in its file with a name that the module, of the names `names`, does not have gives none:
    a variable of a function, or of the statements that only a program executes.
    """
    if kernel.style == "built":
        return False
    return not kernel.off and not any(
        item.source in _CERTAIN and (item.source != "call-site" or _is_closed(item, names))
        for item in kernel.candidates
    )


def _is_closed(candidate: CallCandidate, names: frozenset[str]) -> bool:
    try:
        tree = ast.parse(candidate.expression, mode="eval")
    except SyntaxError:
        return True
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return not names or used <= names


def _names_of(source: SourceFile) -> frozenset[str]:
    """The names that an import of the module binds, and Python's own."""
    bound = frozenset[str]().union(
        *(item.binds for item in source.statements if not _MAIN_GUARD.match(item.text))
    )
    return bound.union(dir(builtins)) if bound else bound


def root_of(path: Path) -> Path | None:
    """The outermost folder above `path` that is a repository or a project; None if none is.

    A folder with ``.git`` is outermost.
    """
    found: Path | None = None
    for folder in path.absolute().parents:
        if (folder / ".git").exists():
            return folder
        if any((folder / name).exists() for name in _MARKERS):
            found = folder
    return found


def _target(kernel: KernelSource, path: str) -> Target | None:
    """The function whose calls give the kernel its arguments; None if it takes none."""
    if kernel.local_to is not None:
        return Target(path, kernel.local_to) if "." not in kernel.local_to else None
    if kernel.style in ("prim_func", "ir_module"):
        return None
    return Target(path, kernel.name)
