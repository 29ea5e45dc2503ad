"""The calls of the kernels of open files in their repository."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import platformdirs

from tirlens.repository.search import Search, Target, find_calls
from tirlens.repository.word_index import WordIndex
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.protocol import CallCandidate

_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
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
    """

    def __init__(self, root: Path, store: Path | None = None) -> None:
        self.root = root
        name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        folder = platformdirs.user_cache_path("tirlens") / "repositories"
        self._index = WordIndex(root, store or folder / f"{name}.sqlite")
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
        wanted = [
            target
            for kernel in source.kernels
            if _takes_calls(kernel) and (target := _target(kernel, relative)) is not None
        ]
        searches = self._search(wanted, texts)
        kernels = tuple(self._with_calls(kernel, relative, searches) for kernel in source.kernels)
        return replace(source, kernels=kernels)

    def _with_calls(
        self, kernel: KernelSource, path: str, searches: Mapping[Target, Search]
    ) -> KernelSource:
        target = _target(kernel, path)
        if target is None or target not in searches or not _takes_calls(kernel):
            return kernel
        search = searches[target]
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
        found = find_calls(self._index, new, texts)
        with self._lock:
            self._found |= found
        return known | found


def _stamp(path: Path) -> int:
    """The time of the last change of a file; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


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
    for kernel in source.kernels:
        repository_calls, hints = calls.get(kernel.name, ([], {}))
        if _takes_calls(kernel) and (repository_calls or hints):
            kernels.append(
                replace(kernel, candidates=(*repository_calls, *_own(kernel)), hints=hints)
            )
        else:
            kernels.append(kernel)
    return replace(source, kernels=tuple(kernels))


def _own(kernel: KernelSource) -> tuple[CallCandidate, ...]:
    """The candidates of the kernel's own file."""
    return tuple(item for item in kernel.candidates if item.source != "repository")


def _takes_calls(kernel: KernelSource) -> bool:
    """Whether a kernel takes calls of other files: nothing in its own file gives its arguments."""
    if kernel.style == "built":
        return False
    return not kernel.off and not any(item.source in _CERTAIN for item in kernel.candidates)


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
