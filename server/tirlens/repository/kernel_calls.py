"""The calls of other files as candidates for the arguments of a file's kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tirlens.evaluation.search_result import Search, Target
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.protocol import CallCandidate

Searcher = Callable[[Sequence[Target]], Mapping[Target, Search]]
"""Searches the calls of some functions of one file."""
_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
# With a candidate from its own file a kernel needs none from others.
_CERTAIN = frozenset(
    {"directive", "option", "settings", "typecheck", "call-site", "module-level", "captured"}
)


def with_calls(source: SourceFile, path: Path, root: Path, search: Searcher) -> SourceFile:
    """`source` with the calls of its kernels in other files as candidates for arguments.

    Parameters
    ----------
    source
        The kernels of the file `path`.
    path
        The file, in the repository.
    root
        The folder of the repository.
    search
        What finds the calls; one that it does not know has none.
    """
    targets = targets_of(source, path, root)
    wanted = [item for item in targets if item is not None]
    searches: Mapping[Target, Search] = search(wanted) if wanted else {}
    kernels = tuple(
        kernel
        if target is None
        else _with_calls(kernel, searches.get(target, Search()), root, target.path)
        for kernel, target in zip(source.kernels, targets, strict=True)
    )
    return replace(source, kernels=kernels)


def targets_of(source: SourceFile, path: Path, root: Path) -> list[Target | None]:
    """The function that gives each kernel its arguments; None where none is searched for."""
    try:
        relative = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return [None] * len(source.kernels)
    return [
        _target(kernel, relative) if _takes_calls(kernel) else None for kernel in source.kernels
    ]


def _with_calls(kernel: KernelSource, search: Search, root: Path, own: str) -> KernelSource:
    """A kernel of the file `own` with the calls of a search."""
    calls = [
        CallCandidate(
            call.expression,
            "repository",
            replace(call.span, file=str(root / (call.span.file or ""))),
            bindings=call.bindings,
            kind=call.kind,
        )
        for call in search.calls
    ]
    return replace(
        kernel,
        candidates=(*calls, *_own(kernel)),
        hints={**search.values, **kernel.hints},
        relations=kernel.relations or search.relations,
        known=kernel.known
        or tuple(
            replace(one, span=replace(one.span, file=_place(root, one.span.file, own)))
            for one in search.known
        ),
    )


def _place(root: Path, file: str | None, own: str) -> str | None:
    """The path of a file of the repository; None for the file `own`, as in all its spans."""
    return None if file == own else str(root / (file or ""))


def searched_kernels(source: SourceFile) -> frozenset[str]:
    """The names of the kernels whose calls are searched in other files.

    The root and the place of the file do not matter.
    """
    return frozenset(
        kernel.name
        for kernel in source.kernels
        if _takes_calls(kernel) and _target(kernel, "") is not None
    )


def merge_calls(source: SourceFile, found: SourceFile) -> SourceFile:
    """`source` with the calls that were found for kernels of these names in an earlier text."""
    calls = {
        kernel.name: (
            [item for item in kernel.candidates if item.source == "repository"],
            kernel.hints,
            kernel.relations,
            kernel.known,
        )
        for kernel in found.kernels
    }
    kernels: list[KernelSource] = []
    for kernel in source.kernels:
        repository_calls, hints, relations, known = calls.get(kernel.name, ([], {}, (), ()))
        if _takes_calls(kernel) and (repository_calls or hints):
            kernels.append(
                replace(
                    kernel,
                    candidates=(*repository_calls, *_own(kernel)),
                    hints={**hints, **kernel.hints},
                    relations=kernel.relations or relations,
                    known=kernel.known or known,
                )
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
