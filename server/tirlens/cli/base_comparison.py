"""``tirlens compare --base``: kernels before a change and now, and the verdict of the gate."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tirlens.captured.candidates import CapturedCalls, merge_captured
from tirlens.cli import change_report, file_analysis, outcome
from tirlens.cli.command_options import options_of
from tirlens.cli.errors import UsageError
from tirlens.cli.named_files import paths_of
from tirlens.cli.output import stream
from tirlens.cli.revision import Revision, revision, search_folders
from tirlens.cli.traced_file import Place, Traced, trace_file
from tirlens.cli.worker_pool import CallSearch, WorkerPool, worker_pool
from tirlens.gate import (
    NO_CALLS,
    Change,
    LackingCalls,
    Limits,
    changes,
    lacking_calls,
    limits_of,
    with_calls,
    with_moves,
    with_only,
)
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.span_shift import map_spans
from tirlens.repository import merge_calls, root_of
from tirlens.source import SourceFile


@dataclass(frozen=True)
class _Sides:
    """One file now and before; `before` is None for a new file.

    `others_now` and `others_before` are the same texts with the calls that each side `lacks`.
    """

    now: Traced
    before: Traced | None
    lacks: LackingCalls = NO_CALLS
    others_now: Traced | None = None
    others_before: Traced | None = None

    def reports(self, **options: object) -> tuple[FileReport, FileReport | None]:
        if self.before is None:
            return self.now.report(**options), None
        if self.before is self.now:
            now = self.now.report(**options)
            return now, now
        now, before = self._reports(self, **options)
        # If only one side is compiled, or lowered, the launches differ for that reason alone.
        for change in (Traced.without_compilation, Traced.as_written):
            if _tiers(now) == _tiers(before):
                break
            now, before = self._reports(self._of_tier(change), **options)
        return now, before

    @staticmethod
    def _reports(sides: _Sides, **options: object) -> tuple[FileReport, FileReport]:
        assert sides.before is not None
        now, before = sides.now.report(**options), sides.before.report(**options)
        lacks = sides.lacks
        if sides.others_now is not None:
            others = sides.others_now.report(**options)
            now = with_calls(now, others, lacks.now, lacks.replaced_now)
        if sides.others_before is not None:
            others = sides.others_before.report(**options)
            before = with_calls(before, others, lacks.before, lacks.replaced_before)
        return now, before

    def _of_tier(self, change: Callable[[Traced], Traced]) -> _Sides:
        names = ("now", "before", "others_now", "others_before")
        traced = {name: getattr(self, name) for name in names}
        return replace(self, **{name: one and change(one) for name, one in traced.items()})

    def in_cells(self, change: Change) -> Change:
        """A change with its places in the cells of a notebook."""
        old, new = change.before, change.now
        if self.before is not None and self.before.notebook is not None and old is not None:
            old = map_spans(old, self.before.notebook.in_cell)
        if self.now.notebook is None:
            return replace(change, before=old)
        in_cell = self.now.notebook.in_cell
        new, line = (item and map_spans(item, in_cell) for item in (new, change.line))
        return replace(change, span=in_cell(change.span), before=old, now=new, line=line)


def _in_cells(report: FileReport, traced: Traced) -> FileReport:
    return file_analysis.in_cells([traced], [report])[0]


def execute(arguments: argparse.Namespace) -> int:
    """Compare the files with those of a revision, and give the exit status."""
    written = [(name, change_report.format_of(name)) for name in arguments.write]
    _limits(arguments.fail_above)
    base = revision(paths_of(arguments.files)[0].absolute(), arguments.base)
    with worker_pool(arguments.jobs) as pool:
        traced = file_analysis.trace_in(pool, arguments)
        files = list(_sides(traced, base, arguments, pool))
    given = arguments.fail_above or _project_limits(traced)
    limits = _limits(given)
    all_changes: list[Change] = []
    reports: list[FileReport] = []
    before: list[FileReport] = []
    # Devices that are compared take precedence over those of the text and the project.
    several = len(arguments.device) > 1
    for device in arguments.device if several else [None]:
        options = {"device": device, "force_device": True} if several else {}
        found: list[Change] = []
        now_reports: dict[str, FileReport] = {}
        for sides in files:
            now, old = sides.reports(**options)
            now_reports[now.path] = now
            found += map(sides.in_cells, changes(old, now, limits))
            reports.append(_in_cells(now, sides.now))
            before += [_in_cells(old, sides.before)] if old and sides.before else []
        all_changes += with_moves(found, now_reports, limits)
    report = change_report.ChangeReport(
        arguments.base,
        all_changes,
        limits,
        tuple(given),
        reports,
        before,
        arguments.allow_uncompared,
    )
    with stream(arguments.output) as out:
        change_report.write(out, report, arguments.format, arguments.color)
    for name, kind in written:
        with stream(name) as out:
            change_report.write(out, report, kind, False)
    outcome.print_problems(reports[: len(files)])
    return _status(report)


def _status(report: change_report.ChangeReport) -> int:
    before, now = report.before, report.now
    if report.refused:
        return outcome.LIMIT_EXCEEDED
    if not report.limits:
        return outcome.status([*before, *now])
    # A file that could not be analysed before, either, is not due to this change.
    known = {file.path for file in before}
    new = any(file.problems and file.path not in known for file in now)
    return 1 if new or any("failed" in change.verdicts for change in report.changes) else 0


def _sides(
    traced: Sequence[Traced],
    base: Revision,
    arguments: argparse.Namespace,
    pool: WorkerPool,
) -> Iterator[_Sides]:
    """Each file now and before; a file that is unchanged with its imports is analysed once."""
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        tree = _Tree(base, arguments, pool, Path(folder))
        for file in traced:
            now = Path(file.path)
            old = base.before(now)
            if not any(base.has_changed(Path(used)) for used in (now, *file.result.files)):
                yield _Sides(file, file)
            elif old is None:
                yield _Sides(file, None)
            else:
                yield tree.both(file, old)
        for path in base.deleted_files():
            place = Path(os.path.relpath(base.root / path))
            if place.suffix == ".py" and _is_among(place, arguments.files):
                gone = tree.trace(path, place, lambda source: source, (), tree.options)
                if gone.source.kernels:
                    yield _Sides(gone.without_kernels(), gone)


class _Tree:
    """The files of a revision, written to a folder when they are first needed."""

    def __init__(
        self, base: Revision, arguments: argparse.Namespace, pool: WorkerPool, folder: Path
    ) -> None:
        self._base = base
        self._arguments = arguments
        self.options = options_of(arguments)
        self._pool = pool
        self._folder = folder / "base"
        self._calls = CallSearch(pool.say, CapturedCalls(), pool.searcher, folder / "words.sqlite")

    @cached_property
    def _unrestricted(self) -> Options:
        """The options without those that choose among kernels and calls."""
        return replace(self.options, calls=(), kernels=(), by_launches=False)

    def both(self, file: Traced, old: str) -> _Sides:
        """A file now and before, with the same calls."""
        now = Path(file.path)
        inside = (self._base.path_of(Path(name)) for name in search_folders(file.result.files))
        sys_path = [str(self._folder / name) for name in inside if not name.startswith("../")]
        before = self.trace(
            old, now, lambda source: self._with_calls(source, file, old), sys_path, self.options
        )
        sides = _Sides(file, before)
        if self._arguments.call:
            return sides
        lacks = lacking_calls(before.report(advice=False), file.report(advice=False))
        if lacks.before:
            others = self.trace(old, now, lambda one: with_only(one, lacks.before), sys_path)
            sides = replace(sides, others_before=others)
        if lacks.now:
            place = Place(now, lambda one: with_only(one, lacks.now))
            others = self._pool.run(
                trace_file(now, self._arguments, self._unrestricted, self._pool, place)
            )
            sides = replace(sides, others_now=others)
        return replace(sides, lacks=lacks)

    def trace(
        self,
        path: str,
        now: Path,
        with_calls: Callable[[SourceFile], SourceFile],
        sys_path: Sequence[str] = (),
        options: Options | None = None,
    ) -> Traced:
        """The file `path` of the revision, which is `now`, with all calls that it has then."""
        if not self._folder.exists():
            self._pool.say(f"files at {self._arguments.base}")
            self._folder.mkdir()
            self._base.write(self._folder)
        self._pool.say(f"{now} at {self._arguments.base}")
        place = Place(now, with_calls, sys_path)
        traced = self._pool.run(
            trace_file(
                self._folder / path,
                self._arguments,
                options or self._unrestricted,
                self._pool,
                place,
            )
        )
        return replace(traced, path=str(now))

    def _with_calls(self, source: SourceFile, file: Traced, old: str) -> SourceFile:
        """The kernels of the revision with the calls of those of the working tree.

        They have calls of their own only if a file with calls has changed.
        """
        source = merge_captured(merge_calls(source, file.source), file.source)
        root = root_of(Path(file.path))
        if root is None or self._arguments.call or self.options.by_launches:
            return source
        inside = self._base.path_of(root)
        changed = {
            os.path.relpath(self._base.root / path, root)
            for path in self._base.changed
            if self._base.path_of(Path(file.path)) != path
        }
        if not self._pool.calls.depends_on(file.source, Path(file.path), changed):
            return source
        return self._calls.with_calls(
            source, self._folder / old, root=self._folder / ("" if inside == "." else inside)
        )


def _is_among(path: Path, names: Sequence[str]) -> bool:
    folders = [Path(name).resolve() for name in names if Path(name).is_dir()]
    return any(folder in path.resolve().parents for folder in folders)


def _tiers(report: FileReport) -> set[tuple[str, str]]:
    return {(kernel.definition, kernel.launch_facts) for kernel in report.kernels}


def _project_limits(traced: Sequence[Traced]) -> Sequence[str]:
    """The limits of the project of the first file."""
    return next((file.options.project.fail_above for file in traced), ())


def _limits(texts: Sequence[str]) -> Limits:
    try:
        return limits_of(texts)
    except ValueError as error:
        raise UsageError(f"--fail-above {error}") from error
