"""The calls of the kernels of open files in their repository."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from tirlens.repository.search import Search, Target, find_calls
from tirlens.repository.word_index import WordIndex
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.protocol import CallCandidate

_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
# Candidates that stand before those of other files; the rest is less sure than these.
_CERTAIN = frozenset({"directive", "option", "settings", "typecheck", "call-site", "module-level"})


@dataclass(frozen=True)
class _Found:
    """A search, and the version of the index for which it was made."""

    generation: int
    search: Search


class Repository:
    """The calls of kernels in one folder and below.

    Parameters
    ----------
    root
        The folder.
    store
        The file that stores the index between runs; None for the user's cache folder.
    """

    def __init__(self, root: Path, store: Path | None = None) -> None:
        self.root = root
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        folder = platformdirs.user_cache_path("tirlens") / "repositories"
        self._index = WordIndex(root, store or folder / f"{name}.sqlite")
        self._generation = 0
        self._found: dict[Target, _Found] = {}
        self._lock = threading.Lock()

    def refresh(self, say: Callable[[int], None] = lambda count: None) -> bool:
        """Read the files that have changed; whether there was one."""
        changed = self._index.refresh(say)
        self._generation += changed
        return changed

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
        try:
            relative = path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return source
        kernels = tuple(self._with_calls(kernel, relative, texts) for kernel in source.kernels)
        return replace(source, kernels=kernels)

    def _with_calls(
        self, kernel: KernelSource, path: str, texts: Mapping[str, str] | None
    ) -> KernelSource:
        target = _target(kernel, path)
        if target is None or kernel.off:
            return kernel
        search = self._search(target, texts)
        before = [item for item in kernel.candidates if item.source in _CERTAIN]
        after = [item for item in kernel.candidates if item.source not in _CERTAIN]
        calls = [
            CallCandidate(
                call.expression,
                "repository",
                replace(call.span, file=str(self.root / (call.span.file or ""))),
                bindings=call.bindings,
            )
            for call in search.calls
        ]
        return replace(kernel, candidates=(*before, *calls, *after), hints=search.values)

    def _search(self, target: Target, texts: Mapping[str, str] | None) -> Search:
        with self._lock:
            known = self._found.get(target)
            if known is None or known.generation != self._generation:
                known = _Found(self._generation, find_calls(self._index, target, texts))
                self._found[target] = known
            return known.search


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
