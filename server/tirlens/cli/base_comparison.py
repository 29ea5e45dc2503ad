"""``tirlens compare --base``: kernels before a change and now, and the verdict of the gate."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tirlens.cli import change_report, file_analysis, outcome
from tirlens.cli.errors import UsageError
from tirlens.cli.output import stream
from tirlens.cli.revision import Revision, revision, search_folders
from tirlens.cli.worker_pool import WorkerPool, worker_pool
from tirlens.gate import Change, Limits, changes, limits_of
from tirlens.pipeline import FileReport
from tirlens.pipeline.span_shift import map_spans


@dataclass(frozen=True)
class _Sides:
    """One file now and before; `before` is None for a new file."""

    now: file_analysis.Traced
    before: file_analysis.Traced | None

    def reports(self, **options: object) -> tuple[FileReport, FileReport | None]:
        now = self.now.report(**options)
        if self.before is None:
            return now, None
        if self.before is self.now:
            return now, now
        before = self.before.report(**options)
        if _tiers(now) != _tiers(before):
            # If only one side is lowered, the launches differ for that reason alone.
            now = self.now.without_lowering().report(**options)
            before = self.before.without_lowering().report(**options)
        return now, before

    def in_cells(self, change: Change) -> Change:
        """A change with its places in the cells of a notebook."""
        old, new = change.before, change.now
        if self.before is not None and self.before.notebook is not None and old is not None:
            old = map_spans(old, self.before.notebook.in_cell)
        if self.now.notebook is None:
            return replace(change, before=old)
        in_cell = self.now.notebook.in_cell
        new = new and map_spans(new, in_cell)
        return replace(change, span=in_cell(change.span), before=old, now=new)


def _in_cells(report: FileReport, traced: file_analysis.Traced) -> FileReport:
    return file_analysis.in_cells([traced], [report])[0]


def execute(arguments: argparse.Namespace) -> int:
    """Compare the files with those of a revision, and give the exit status."""
    written = [(name, change_report.format_of(name)) for name in arguments.write]
    _limits(arguments.fail_above)
    folder = file_analysis.paths_of(arguments.files)[0].absolute().parent
    base = revision(folder, arguments.base)
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
        for sides in files:
            now, old = sides.reports(**options)
            all_changes += map(sides.in_cells, changes(old, now, limits))
            reports.append(_in_cells(now, sides.now))
            before += [_in_cells(old, sides.before)] if old and sides.before else []
    report = change_report.ChangeReport(
        arguments.base, all_changes, limits, tuple(given), reports, before
    )
    with stream(arguments.output) as out:
        change_report.write(out, report, arguments.format, arguments.color)
    for name, kind in written:
        with stream(name) as out:
            change_report.write(out, report, kind, False)
    outcome.print_problems(reports[: len(files)])
    return _status(all_changes, reports, before, limits)


def _status(
    all_changes: Sequence[Change],
    now: Sequence[FileReport],
    before: Sequence[FileReport],
    limits: Limits,
) -> int:
    if any("over-budget" in change.verdicts for change in all_changes):
        return outcome.LIMIT_EXCEEDED
    if not limits:
        return outcome.status([*before, *now])
    if any(change.is_refused for change in all_changes):
        return outcome.LIMIT_EXCEEDED
    # A file that could not be analysed before, either, is not due to this change.
    known = {file.path for file in before}
    new = any(file.problems and file.path not in known for file in now)
    return 1 if new or any("failed" in change.verdicts for change in all_changes) else 0


def _sides(
    traced: Sequence[file_analysis.Traced],
    base: Revision,
    arguments: argparse.Namespace,
    pool: WorkerPool,
) -> Iterator[_Sides]:
    """Each file now and before; a file that is unchanged with its imports is analysed once."""
    options = file_analysis.options_of(arguments)
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        tree = Path(folder, "base")

        def at_base(path: str, now: Path, sys_path: Sequence[str] = ()) -> file_analysis.Traced:
            if not tree.exists():
                pool.say(f"files at {arguments.base}")
                tree.mkdir()
                base.write(tree)
            pool.say(f"{now} at {arguments.base}")
            before = file_analysis.trace_file(tree / path, arguments, options, pool, now, sys_path)
            return replace(before, path=str(now))

        for file in traced:
            now = Path(file.path)
            old = base.before(now)
            if not any(base.has_changed(Path(used)) for used in (now, *file.result.files)):
                yield _Sides(file, file)
            elif old is None:
                yield _Sides(file, None)
            else:
                inside = (base.path_of(Path(name)) for name in search_folders(file.result.files))
                folders = [str(tree / name) for name in inside if not name.startswith("../")]
                yield _Sides(file, at_base(old, now, folders))
        for path in base.deleted_files():
            place = Path(os.path.relpath(base.root / path))
            if place.suffix == ".py" and _is_among(place, arguments.files):
                gone = at_base(path, place)
                if gone.source.kernels:
                    yield _Sides(gone.without_kernels(), gone)


def _is_among(path: Path, names: Sequence[str]) -> bool:
    folders = [Path(name).resolve() for name in names if Path(name).is_dir()]
    return any(folder in path.resolve().parents for folder in folders)


def _tiers(report: FileReport) -> set[tuple[str, str]]:
    return {(kernel.definition, kernel.launch_facts) for kernel in report.kernels}


def _project_limits(traced: Sequence[file_analysis.Traced]) -> Sequence[str]:
    """The limits of the project of the first file."""
    return next((file.options.project.fail_above for file in traced), ())


def _limits(texts: Sequence[str]) -> Limits:
    try:
        return limits_of(texts)
    except ValueError as error:
        raise UsageError(f"--fail-above {error}") from error
