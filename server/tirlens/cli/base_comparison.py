"""``tirlens compare --base``: kernels before a change and now, and the verdict of the gate."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tirlens.captured.candidates import CapturedCalls, merge_captured
from tirlens.cli import file_analysis
from tirlens.cli.command_options import options_of
from tirlens.cli.named_files import paths_of
from tirlens.cli.revision import Revision, revision, search_folders
from tirlens.cli.side_changes import check_options, write_changes
from tirlens.cli.sides import Sides
from tirlens.cli.traced_file import Place, Traced, trace_file
from tirlens.cli.worker_pool import CallSearch, WorkerPool, worker_pool
from tirlens.gate import lacking_calls, with_only
from tirlens.pipeline import Options
from tirlens.repository import merge_calls, root_of
from tirlens.source import SourceFile


def execute(arguments: argparse.Namespace) -> int:
    """Compare the files with those of a revision, and give the exit status."""
    check_options(arguments)
    base = revision(paths_of(arguments.files)[0].absolute(), arguments.base)
    with worker_pool(arguments.jobs, scheduler=arguments.scheduler) as pool:
        traced = file_analysis.trace_in(pool, arguments)
        files = list(_sides(traced, base, arguments, pool))
    return write_changes(arguments, files, (arguments.base, "now"))


def _sides(
    traced: Sequence[Traced],
    base: Revision,
    arguments: argparse.Namespace,
    pool: WorkerPool,
) -> Iterator[Sides]:
    """Each file now and before; a file that is unchanged with its imports is analysed once."""
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        tree = _Tree(base, arguments, pool, Path(folder))
        for file in traced:
            now = Path(file.path)
            old = base.before(now)
            if not any(base.has_changed(Path(used)) for used in (now, *file.result.files)):
                yield Sides(file, file)
            elif old is None:
                yield Sides(file, None)
            else:
                yield tree.both(file, old)
        for path in base.deleted_files():
            place = Path(os.path.relpath(base.root / path))
            if place.suffix == ".py" and _is_among(place, arguments.files):
                gone = tree.trace(path, place, lambda source: source, (), tree.options)
                if gone.source.kernels:
                    yield Sides(gone.without_kernels(), gone)


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

    def both(self, file: Traced, old: str) -> Sides:
        """A file now and before, with the same calls."""
        now = Path(file.path)
        inside = (self._base.path_of(Path(name)) for name in search_folders(file.result.files))
        sys_path = [str(self._folder / name) for name in inside if not name.startswith("../")]
        before = self.trace(
            old, now, lambda source: self._with_calls(source, file, old), sys_path, self.options
        )
        sides = Sides(file, before)
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
