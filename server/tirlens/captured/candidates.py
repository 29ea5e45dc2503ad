"""Captured calls as candidates for the arguments of kernels."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tirlens.captured.file_format import Capture, CapturedCall, CaptureError, read, split_place
from tirlens.captured.names import PATTERN
from tirlens.captured.sections import SectionChoice, SectionError, choose_launches
from tirlens.repository import root_of
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.facts import Span
from tirlens_worker.protocol import CallCandidate

# Candidates of these sources are nearer to the kernel than a captured call.
_NEARER = frozenset({"directive", "option", "settings", "typecheck"})


class CapturedCalls:
    """The captured calls of the kernels of any file, from the capture files above it.

    A capture file is read again when it has changed.

    Parameters
    ----------
    only
        These capture files and no others; None for those that are found.
    choice
        The sections whose launches count.

    Attributes
    ----------
    problems
        Of the capture files that could not be read, by their path.
    """

    def __init__(
        self, only: Sequence[Path] | None = None, choice: SectionChoice | None = None
    ) -> None:
        self.problems: dict[Path, str] = {}
        self._only = only
        self._choice = choice or SectionChoice()
        self._read: dict[Path, tuple[tuple[int, int], Capture | None]] = {}
        self._lock = threading.Lock()

    def with_calls(self, source: SourceFile, path: Path, root: Path | None = None) -> SourceFile:
        """`source`, the kernels of the file `path`, with their captured calls as candidates.

        The most frequent call is the first. Calls of other sources that are nearer to the kernel,
        such as directives, stay before them.

        Parameters
        ----------
        source
            The kernels.
        path
            Their file.
        root
            The folder of the repository; None for the one above `path` that is one.
        """
        if not source.kernels:
            return source
        found = list(self._calls_in(path, root))
        if not found:
            return source
        return replace(
            source, kernels=tuple(_with_calls(kernel, found) for kernel in source.kernels)
        )

    def _calls_in(self, path: Path, root: Path | None) -> Iterator[tuple[Path, CapturedCall]]:
        """The calls of kernels of the file `path`, with the folder of their capture file."""
        for capture_path in (
            self._only if self._only is not None else capture_files_above(path, root)
        ):
            capture = self._capture(capture_path)
            if capture is None:
                continue
            folder = capture_path.absolute().parent
            relative = Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
            yield from ((folder, call) for call in capture.calls if call.file == relative)

    def _capture(self, path: Path) -> Capture | None:
        try:
            status = path.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        with self._lock:
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                self.problems.pop(path, None)
                capture: Capture | None = None
                try:
                    capture = choose_launches(read(path), self._choice)
                except CaptureError as error:
                    self.problems[path] = str(error)
                except SectionError as error:
                    self.problems[path] = f"{path}: {error}"
                known = self._read[path] = (stamp, capture)
            return known[1]


def merge_captured(source: SourceFile, found: SourceFile) -> SourceFile:
    """`source` with the captured calls that kernels of these names have in another text."""
    captured = {
        kernel.name: tuple(item for item in kernel.candidates if item.source == "captured")
        for kernel in found.kernels
    }
    kernels = (_with_candidates(kernel, captured.get(kernel.name, ())) for kernel in source.kernels)
    return replace(source, kernels=tuple(kernels))


def capture_files_above(path: Path, root: Path | None = None) -> Iterator[Path]:
    """The capture files in the folders from that of `path` to that of its repository."""
    root = root or root_of(path)
    for folder in path.absolute().parents:
        yield from sorted(folder.glob(PATTERN))
        if root is None or folder == root:
            return


def _with_calls(kernel: KernelSource, found: Sequence[tuple[Path, CapturedCall]]) -> KernelSource:
    calls = [
        (folder, call)
        for folder, call in found
        # The first of the configurations of a tuner is not the one that it would choose.
        if call.call is not None and call.configurations <= 1 and _is_of(call, kernel)
    ]
    calls.sort(key=lambda pair: -pair[1].launches)
    return _with_candidates(kernel, tuple(_candidate(folder, call) for folder, call in calls))


def _with_candidates(kernel: KernelSource, candidates: Sequence[CallCandidate]) -> KernelSource:
    if not candidates:
        return kernel
    nearer = [item for item in kernel.candidates if item.source in _NEARER]
    others = [item for item in kernel.candidates if item.source not in _NEARER]
    return replace(kernel, candidates=(*nearer, *candidates, *others))


def _is_of(call: CapturedCall, kernel: KernelSource) -> bool:
    if kernel.off or (kernel.local_to or kernel.name) != call.function:
        return False
    if kernel.local_to is not None or kernel.style == "ir_module":
        # Several kernels are in one function or module.
        return call.kernel in (kernel.prim_func, kernel.name.rpartition(".")[2])
    return True


def _candidate(folder: Path, call: CapturedCall) -> CallCandidate:
    span = None
    if call.places:
        file, line = split_place(call.places[0])
        span = Span(line, 0, line, 0, file=str(folder / file))
    return CallCandidate(
        call.call or "",
        "captured",
        span,
        bindings=call.sizes,
        assumed={name: str(call.sizes.get(name, "?")) for name in call.unknown_sizes},
        launches=call.launches,
    )
