"""Analyse the files that a command names."""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from tirlens import own_process, pipeline
from tirlens.cli.captured_files import captured_calls
from tirlens.cli.command_options import options_of
from tirlens.cli.errors import UsageError
from tirlens.cli.named_files import paths_of
from tirlens.cli.outcome import print_note
from tirlens.cli.selection_notes import name_unselected, refuse_selection
from tirlens.cli.traced_file import Traced, result_store, stored_result, trace_file
from tirlens.cli.worker_pool import WorkerPool, default_jobs, worker_pool
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.analysis_request import selected_kernels

# The start of a process that has the model takes as long as the reports of about these.
_KERNELS_WORTH_PROCESSES = 40
_NO_FUNCTION = (
    "te.compute describes tensors, and te.create_prim_func makes a function of them: "
    "func = te.create_prim_func([A, B, C])"
)
START_METHOD = "spawn" if sys.platform == "win32" else "forkserver"
"""How processes that execute the model are started."""
MAX_EDITS = 16
"""The edits of advice that one command tries; each takes the trace and lowering of a kernel."""


def trace(arguments: argparse.Namespace) -> list[Traced]:
    """Run the files that the arguments name, several at a time in workers of their own.

    Raises:
        UsageError: nothing to analyse.
    """
    with worker_pool(arguments.jobs, captured_calls(arguments), arguments.scheduler) as pool:
        return trace_in(pool, arguments)


def trace_and_report(arguments: argparse.Namespace) -> tuple[list[Traced], list[FileReport]]:
    """The files that the arguments name and their reports, with the edits of advice tried.

    Raises:
        UsageError: nothing to analyse.
    """
    with worker_pool(arguments.jobs, captured_calls(arguments), arguments.scheduler) as pool:
        traced = trace_in(pool, arguments)
        reports = _reports_in(pool, traced)
        reports = with_tried_edits(pool, traced, reports, arguments)
    return traced, _with_measured(traced, reports)


def trace_in(pool: WorkerPool, arguments: argparse.Namespace) -> list[Traced]:
    """Run the files that the arguments name, in the workers of `pool`.

    Raises:
        UsageError: nothing to analyse.
    """
    options = options_of(arguments)
    paths = paths_of(arguments.files)
    named = set(arguments.files)
    traced = [
        file
        for file in pool.run(_trace_files(paths, arguments, options, pool))
        # A folder holds much that has nothing to do with kernels.
        if file.source.kernels
        or file.result.problems
        or len(paths) == 1
        or (file.source.problems and file.path in named)
    ]
    result_store().prune()
    if not any(
        file.source.kernels or file.source.problems or file.result.problems for file in traced
    ):
        described = any(file.source.has_tensor_expressions for file in traced)
        reasons = [file.source.looked_for for file in traced if file.source.looked_for]
        reason = _NO_FUNCTION if described else next(iter(reasons), "")
        hint = f": {reason}" if reason else ""
        raise UsageError(f"no kernels in {', '.join(arguments.files)}{hint}")
    if not any(selected_kernels(file.source, file.options) for file in traced):
        refuse_selection(arguments, traced)
    _check_bindings(options.bindings, traced)
    if arguments.call:
        name_unselected(traced)
    return traced


async def _trace_files(
    paths: Sequence[Path], arguments: argparse.Namespace, options: Options, pool: WorkerPool
) -> list[Traced]:
    """`paths`, of which no more are read than workers wait for."""
    slots = asyncio.Semaphore(pool.jobs)
    done = 0

    async def one(path: Path) -> Traced:
        nonlocal done
        async with slots:
            pool.say(f"{done}/{len(paths)} {path}")
            traced = await trace_file(path, arguments, options, pool)
            done += 1
            return traced

    return list(await asyncio.gather(*map(one, paths)))


def _reports_in(pool: WorkerPool, traced: Sequence[Traced]) -> list[FileReport]:
    """The report of each file; by the executor of `pool`, if it has one."""
    if pool.executor is None:
        return reports_of(traced, pool.jobs)
    return list(pool.executor.map(Traced.report, traced))


def reports_of(
    traced: Sequence[Traced], jobs: int | None = None, **changes: object
) -> list[FileReport]:
    """The report of each file with some options changed; many kernels in several processes.

    Its lines are those of the text; `in_cells` has those of a notebook's cells.
    """
    jobs = min(jobs or default_jobs(), len(traced))
    kernels = sum(len(file.result.kernels) for file in traced)
    if jobs == 1 or kernels < _KERNELS_WORTH_PROCESSES:
        return [file.report(**changes) for file in traced]
    with ProcessPoolExecutor(
        jobs, multiprocessing.get_context(START_METHOD), own_process.hide
    ) as pool:
        return list(pool.map(_report, traced, [changes] * len(traced)))


def in_cells(traced: Sequence[Traced], reports: Sequence[FileReport]) -> list[FileReport]:
    """The reports of the files with places in the cells of those that are notebooks."""
    return [
        report if file.notebook is None else report.in_cells(file.notebook)
        for file, report in zip(traced, reports, strict=True)
    ]


def _report(traced: Traced, changes: Mapping[str, object]) -> FileReport:
    return traced.report(**changes)


def with_tried_edits(
    pool: WorkerPool,
    traced: Sequence[Traced],
    reports: Sequence[FileReport],
    arguments: argparse.Namespace,
) -> list[FileReport]:
    """The reports, with the edits of their advice tried: at most `MAX_EDITS` of all files."""
    found = [
        (file, trial)
        for file, report in zip(traced, reports, strict=True)
        if file.interpreter is not None
        for trial in pipeline.trials(report, {})
    ]
    found.sort(key=lambda pair: -(pair[1].advice.saving_s or 0.0))
    known = pool.run(_try_edits(pool, found[:MAX_EDITS], arguments))
    return [pipeline.with_outcomes(report, known) for report in reports]


async def _try_edits(
    pool: WorkerPool, found: Sequence[tuple[Traced, pipeline.Trial]], arguments: argparse.Namespace
) -> dict[pipeline.TrialKey, pipeline.Outcome]:
    done = 0

    async def one(file: Traced, trial: pipeline.Trial) -> pipeline.Outcome:
        nonlocal done
        pool.say(f"{done}/{len(found)} edits tried {file.path}")
        path = str(Path(file.path).absolute())
        changed = replace(file, source=trial.source, text=trial.source.text)
        request = trial.request(path, file.options)
        result = await stored_result(pool, changed, request, arguments.fresh)
        done += 1
        return trial.outcome(result, file.options, file.path)

    outcomes = await asyncio.gather(*(one(file, trial) for file, trial in found))
    return {trial.key: outcome for (_, trial), outcome in zip(found, outcomes, strict=True)}


def _with_measured(traced: Sequence[Traced], reports: Sequence[FileReport]) -> list[FileReport]:
    """The reports with the stored measured times of their kernels."""
    files = pipeline.MeasuredFiles()
    found = [
        pipeline.with_measured(
            report,
            files.times_of(path),
            committed=partial(files.committed_of, path, is_awaited=True),
        )[0]
        for path, report in zip((Path(file.path) for file in traced), reports, strict=True)
    ]
    for problem in (text for texts in files.problems.values() for text in texts):
        print_note(problem)
    return found


def _check_bindings(bindings: Mapping[str, int], traced: Sequence[Traced]) -> None:
    """Check that each name of ``--bind`` is a size or a parameter of a kernel.

    Raises:
        UsageError: no kernel has one of the names.
    """
    if any(item.result.problems for item in traced):
        # A kernel that was not traced may have the name.
        return
    names = {name for item in traced for name in _bindable_names(item)}
    unknown = [name for name in bindings if name not in names]
    if unknown:
        known = ", ".join(sorted(names)) or "none"
        raise UsageError(f"--bind {unknown[0]}: no kernel has this name; there are: {known}")


def _bindable_names(traced: Traced) -> Iterator[str]:
    for kernel in selected_kernels(traced.source, traced.options):
        yield from kernel.parameters
    for facts in traced.result.kernels:
        yield from (variable.name for variable in facts.variables)
    for needs in traced.result.needs:
        yield from needs.names
