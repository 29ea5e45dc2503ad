"""Measured times for the file that is committed: of ``tirlens measure`` and of traces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tirlens.cli.errors import UsageError
from tirlens.measured.matching.residuals import Residual
from tirlens.measured.matching.stored_times import StoredTime, StoredTimesError, store, stored_path
from tirlens.model.report import KernelReport
from tirlens.source import SourceFile
from tirlens.source.digest import KernelDigests
from tirlens_worker.protocol import Timing


@dataclass(frozen=True)
class Recorder:
    """Adds measured times to the files of times above the kernels.

    `target` is the file to write; None for the one of each kernel's repository.
    """

    target: Path | None = None

    def check(self, paths: Sequence[Path]) -> None:
        """Raise if the times of kernels of `paths` cannot be added, before any is measured.

        Raises
        ------
        UsageError
            A file of times that is there cannot be read.
        """
        for target in {self.target or stored_path(path) for path in paths}:
            if target.exists():
                self._store(target, ())

    def record(self, path: Path, entry: StoredTime) -> None:
        """Store an entry of a kernel of the file `path`.

        Raises
        ------
        UsageError
            The file of times cannot be read or written.
        """
        self.record_all([(path, entry)])

    def record_all(self, entries: Sequence[tuple[Path, StoredTime]]) -> list[Path]:
        """Store entries of kernels with their files, and return the files that are written."""
        files: dict[Path, list[StoredTime]] = {}
        for path, entry in entries:
            target = self.target or stored_path(path)
            relative = os.path.relpath(path.resolve(), target.absolute().parent.resolve())
            entry = replace(entry, file=Path(relative).as_posix())
            files.setdefault(target, []).append(entry)
        for target, found in files.items():
            self._store(target, found)
        return list(files)

    def _store(self, target: Path, entries: Sequence[StoredTime]) -> None:
        try:
            store(target, entries)
        except StoredTimesError as error:
            raise UsageError(str(error)) from error


def recorder(option: str) -> Recorder:
    """The recorder of ``--record [FILE]``; the option is empty without a file."""
    return Recorder(Path(option) if option else None)


def entry_of_run(timing: Timing, report: KernelReport, source: SourceFile) -> StoredTime:
    """The entry of a kernel that ``tirlens measure`` has run."""
    return replace(
        _entry(report, source),
        time_s=timing.median_s,
        low_s=timing.low_s,
        high_s=timing.high_s,
        samples=timing.samples,
        board=timing.device,
        tool="tirlens measure",
    )


def entries_of_traces(
    residuals: Sequence[Residual], formats: Mapping[str, str], sources: Mapping[str, SourceFile]
) -> Iterator[tuple[Path, StoredTime]]:
    """The entries of the matched kernels of traces, each with the file of its kernel.

    Of a function that launches several kernels, all must be matched, with as many executions.
    The date is that of the trace. A kernel whose file was written after that has no digest: nobody
    knows whether the trace is of this text.

    Parameters
    ----------
    residuals
        The matched kernels.
    formats
        The format of each trace by its path.
    sources
        The texts of the kernels' files by their paths.
    """
    functions: dict[tuple[int, str], list[Residual]] = {}
    for one in residuals:
        key = id(one.match.candidate), one.match.group.first.position.path
        functions.setdefault(key, []).append(one)
    for (_, trace), parts in functions.items():
        candidate = parts[0].match.candidate
        time = _whole_time(parts)
        if time is None:
            continue
        path = Path(candidate.path)
        measured_at_s = Path(trace).stat().st_mtime
        is_of_text = path.stat().st_mtime <= measured_at_s
        entry = _entry(candidate.report, sources[candidate.path])
        yield (
            path,
            replace(
                entry,
                **time,
                board=parts[0].board,
                tool=formats[trace],
                measured_at=datetime.fromtimestamp(measured_at_s, timezone.utc),
                digest=entry.digest if is_of_text else "",
            ),
        )


def _whole_time(parts: Sequence[Residual]) -> dict[str, Any] | None:
    """The time of a whole function from its launches in a trace; None where one is missing."""
    numbers = sorted(one.match.number or 0 for one in parts)
    launches = len(parts[0].match.candidate.launches)
    is_whole = parts[0].match.number is None or numbers == list(range(launches))
    times_s = [one.measured_s for one in parts if one.measured_s is not None]
    counts = {one.match.group.time.count for one in parts}
    if not is_whole or len(times_s) != len(parts) or len(counts) != 1:
        return None
    time = parts[0].match.group.time
    is_single = len(parts) == 1
    return {
        "time_s": sum(times_s),
        "low_s": time.quantile(0.1) if is_single else None,
        "high_s": time.quantile(0.9) if is_single else None,
        "samples": counts.pop(),
    }


def _entry(report: KernelReport, source: SourceFile) -> StoredTime:
    return StoredTime(
        file="",
        kernel=report.definition,
        function=report.name,
        call=report.call,
        device_id=report.device_id,
        time_s=0.0,
        measured_at=datetime.now(timezone.utc),
        tool="",
        digest=KernelDigests(source).at(report.span.line) or "",
        sizes=report.bindings,
    )
