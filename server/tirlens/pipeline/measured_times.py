"""The stored measured times of the kernels of a report."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tirlens.measured.matching.stored_times import (
    StoredTime,
    StoredTimesError,
    read_stored,
    stored_files_above,
)
from tirlens.model.report import KernelReport, MeasuredTime
from tirlens.pipeline.committed_texts import CommittedTexts
from tirlens.pipeline.file_report import FileReport
from tirlens.source.digest import KernelDigests

#: The digests of the texts of each kernel that were seen, the present one last, by its definition.
Digests = Mapping[str, tuple[str, ...]]
NO_DIGESTS: Digests = {}
_MOST_TEXTS = 1000


class MeasuredFiles:
    """The files of measured times above any file, each read again when it has changed.

    Attributes
    ----------
    problems
        Of the files that could not be read, by their path.
    """

    def __init__(self) -> None:
        self.problems: dict[Path, tuple[str, ...]] = {}
        self._read: dict[Path, tuple[tuple[int, int], tuple[StoredTime, ...]]] = {}
        self._committed = CommittedTexts()
        self._lock = threading.Lock()

    def committed_of(self, path: Path, is_awaited: bool = False) -> Digests:
        """The digests of the texts of the kernels in the commits since they were measured.

        Reads the repository in a thread, and returns none until then, unless it `is_awaited`.
        """
        return self._committed.of(path, self.times_of(path), is_awaited)

    def times_of(self, path: Path, root: Path | None = None) -> tuple[StoredTime, ...]:
        """The entries of the kernels of the file `path`; reads files of folders up to `root`."""
        found: list[StoredTime] = []
        for stored in stored_files_above(path, root):
            relative = Path(os.path.relpath(path.resolve(), stored.parent.resolve())).as_posix()
            found += [entry for entry in self._entries(stored) if entry.file == relative]
        return tuple(found)

    def _entries(self, path: Path) -> tuple[StoredTime, ...]:
        try:
            status = path.stat()
        except OSError:
            return ()
        stamp = (status.st_mtime_ns, status.st_size)
        with self._lock:
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                self.problems.pop(path, None)
                try:
                    entries, problems = read_stored(path)
                except StoredTimesError as error:
                    entries, problems = (), (str(error),)
                if problems:
                    self.problems[path] = problems
                known = self._read[path] = (stamp, entries)
            return known[1]


def with_measured(
    report: FileReport,
    times: Sequence[StoredTime],
    before: Digests = NO_DIGESTS,
    committed: Callable[[], Digests] = dict,
) -> tuple[FileReport, Digests]:
    """`report` with the measured times of its kernels, and the digests of their texts.

    Parameters
    ----------
    report
        The report of a text.
    times
        The entries of its file.
    before
        The digests of the texts before this one.
    committed
        Gives those of the commits before them; asked for where a kernel was edited.
    """
    if not times:
        return report, NO_DIGESTS
    named = {entry.kernel for entry in times}
    digests = KernelDigests(report.source)
    lines = Counter(name for name, _ in {(one.definition, one.span) for one in report.kernels})
    seen: dict[str, tuple[str, ...]] = {}
    kernels: list[KernelReport] = []
    for kernel in report.kernels:
        if kernel.definition in named:
            digest = digests.at(kernel.span.line)
            known = before.get(kernel.definition, ())
            if digest is not None and known[-1:] != (digest,):
                known = (*known, digest)
            if lines[kernel.definition] > 1:
                # Texts of several kernels with one name are not those of one.
                known = ()
            seen[kernel.definition] = known[-_MOST_TEXTS:]
            own = (one for one in times if one.kernel == kernel.definition)
            if known and any(_is_edited(one, digest) for one in own):
                known = _join_texts(committed().get(kernel.definition, ()), known)
            kernel = replace(kernel, measured=_own_times(kernel, times, digest, known))
        kernels.append(kernel)
    return replace(report, kernels=tuple(kernels)), seen


def _own_times(
    kernel: KernelReport, times: Sequence[StoredTime], digest: str | None, seen: Sequence[str]
) -> tuple[MeasuredTime, ...]:
    own = [entry for entry in times if _is_of(entry, kernel)]
    own.sort(
        key=lambda entry: (entry.device_id != kernel.device_id, -entry.measured_at.timestamp())
    )
    return tuple(_time(entry, digest, seen) for entry in own)


def _is_of(entry: StoredTime, kernel: KernelReport) -> bool:
    return (entry.kernel, entry.function, entry.call, dict(entry.sizes)) == (
        kernel.definition,
        kernel.name,
        kernel.call,
        dict(kernel.bindings),
    )


def _is_edited(entry: StoredTime, digest: str | None) -> bool | None:
    return None if digest is None or not entry.digest else digest != entry.digest


def _join_texts(committed: Sequence[str], seen: Sequence[str]) -> tuple[str, ...]:
    """The texts of commits and then those of the session, which may begin with the last of them."""
    begin = 1 if committed and committed[-1] == seen[0] else 0
    return (*committed, *seen[begin:])


def _time(entry: StoredTime, digest: str | None, seen: Sequence[str]) -> MeasuredTime:
    is_edited = _is_edited(entry, digest)
    edits = None
    if is_edited and entry.digest in seen:
        edits = len(seen) - 1 - max(at for at, one in enumerate(seen) if one == entry.digest)
    return MeasuredTime(
        entry.device_id,
        entry.time_s,
        entry.measured_at.timestamp(),
        entry.tool,
        entry.low_s,
        entry.high_s,
        entry.samples,
        entry.board,
        is_edited,
        edits,
    )
