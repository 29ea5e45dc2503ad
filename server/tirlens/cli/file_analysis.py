"""Analyse the files that a command names."""

from __future__ import annotations

import argparse
import asyncio
import glob
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import platformdirs

from tirlens import own_process, pipeline, source
from tirlens.cli.call_steps import merge_steps, steps_by_calls
from tirlens.cli.captured_files import captured_calls
from tirlens.cli.errors import UsageError
from tirlens.cli.file_text import read_file
from tirlens.cli.outcome import print_note
from tirlens.cli.selection_notes import name_unselected, refuse_selection
from tirlens.cli.worker_pool import TERMINAL_VARIABLES, WorkerPool, default_jobs, worker_pool
from tirlens.hardware import DeviceError, load
from tirlens.ide.notebook_file import NotebookFile
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.analysis_request import root_name, selected_kernels
from tirlens.pipeline.device_choice import choose_device
from tirlens.pipeline.result_store import ResultStore, result_key
from tirlens.settings import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S, Settings
from tirlens.source import SourceFile
from tirlens.source.directives import integer
from tirlens.worker_client import Interpreter, find_interpreter
from tirlens.worker_client.process import worker_environment
from tirlens_worker.protocol import Analyze, Result

# The start of a process that has the model takes as long as the reports of about these.
_KERNELS_WORTH_PROCESSES = 40
_START_METHOD = "spawn" if sys.platform == "win32" else "forkserver"
_NO_FUNCTION = (
    "te.compute describes tensors, and te.create_prim_func makes a function of them: "
    "func = te.create_prim_func([A, B, C])"
)
MAX_EDITS = 16
"""The edits of advice that one command tries; each takes the trace and lowering of a kernel."""
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "build", "dist"}


@dataclass(frozen=True)
class Traced:
    """One file as it is on disk, and the worker's result for its kernels.

    `text` is that of the Python cells of a `notebook`.  `lowered_for` are the options for which it
    was lowered, by the worker of `interpreter`.
    """

    path: str
    text: str
    source: SourceFile
    result: Result
    options: Options
    notebook: NotebookFile | None = None
    interpreter: Interpreter | None = None
    lowered_for: Sequence[Options] = ()

    def report(self, **changes: object) -> FileReport:
        """The file's report with some options changed; only the model runs."""
        options = replace(self.options, **changes)  # pyright: ignore[reportArgumentType]
        return pipeline.file_report(self.source, self.result, options, self.path)

    def without_lowering(self) -> Traced:
        """A copy without the results of lowering."""
        kernels = (replace(facts, lowered=(), refused={}) for facts in self.result.kernels)
        return replace(self, result=replace(self.result, kernels=tuple(kernels)))

    def without_kernels(self) -> Traced:
        """A copy with an empty text."""
        return Traced(self.path, "", SourceFile(), Result(0), self.options)


def options_of(arguments: argparse.Namespace) -> Options:
    """The options of a command, checked.

    Raises:
        UsageError: an option's value is wrong.
    """
    for name in arguments.device:
        try:
            load(name)
        except DeviceError as error:
            raise UsageError(str(error)) from error
    for call in arguments.call:
        if root_name(call) is None:
            raise UsageError(f"--call {call!r} is no call such as 'matmul(1024, 1024)'")
    check_timeout(arguments.timeout)
    return Options(
        device=arguments.device[0] if arguments.device else None,
        math_fidelity=_math_fidelity(arguments),
        model=_model(arguments),
        force_model=getattr(arguments, "force_model", False),
        bindings=dict(_binding(item) for item in arguments.bind),
        calls=tuple(arguments.call),
        kernels=tuple(arguments.kernel),
        force_device=getattr(arguments, "force_device", False),
        by_launches=getattr(arguments, "by_launches", False),
        all_calls=getattr(arguments, "all_calls", False),
        advice=arguments.advice,
    )


def _model(arguments: argparse.Namespace) -> str | None:
    """The option ``--model`` of commands that take one.

    Raises:
        UsageError: several are named.
    """
    named: list[str] = getattr(arguments, "model", [])
    if len(named) > 1:
        raise UsageError("one --model, please; tirlens report and compare take several")
    return named[0] if named else None


def _math_fidelity(arguments: argparse.Namespace) -> str | None:
    """The option ``--math-fidelity``.

    Raises:
        UsageError: none of the devices that are named has a choice of it.
    """
    fidelity: str | None = getattr(arguments, "math_fidelity", None)
    if fidelity and arguments.device and not any(load(d).fidelities for d in arguments.device):
        raise UsageError(
            f"--math-fidelity {fidelity}: {', '.join(arguments.device)} has no math fidelities; "
            "Tensix devices have them, such as wormhole-n150"
        )
    return fidelity


def check_timeout(timeout_s: float | None) -> None:
    """Check the option ``--timeout``.

    Raises:
        UsageError: it is no time, or too long.
    """
    if timeout_s is not None and not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise UsageError(
            f"--timeout must be a number of seconds above 0 and at most {MAX_TIMEOUT_S:,}"
        )


def _binding(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    size = integer(value) if equals else None
    if size is None or not name.strip().isidentifier():
        raise UsageError(
            f"--bind {text[:80]!r}: expected NAME=VALUE with a whole number below 2^63, "
            "such as M=4096"
        )
    return name.strip(), size


def paths_of(names: Sequence[str]) -> list[Path]:
    """The files that files, folders and patterns name, each once; of a folder the Python files.

    Raises:
        UsageError: a name matches no file.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            matches = list(_python_files(path))
        elif path.exists():
            matches = [path]
        else:
            matches = [Path(item) for item in sorted(glob.glob(name, recursive=True))]  # noqa: PTH207
        if not matches:
            wrong = "no Python files in this folder" if path.is_dir() else "no such file"
            raise UsageError(f"{name}: {wrong}")
        found.update(dict.fromkeys(matches))
    return list(found)


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            item for item in folders if item not in _SKIPPED_FOLDERS and not item.startswith(".")
        )
        yield from (Path(root, item) for item in sorted(files) if item.endswith(".py"))


def trace(arguments: argparse.Namespace) -> list[Traced]:
    """Run the files that the arguments name, several at a time in workers of their own.

    Raises:
        UsageError: nothing to analyse.
    """
    with worker_pool(arguments.jobs, captured_calls(arguments)) as pool:
        return trace_in(pool, arguments)


def trace_and_report(arguments: argparse.Namespace) -> tuple[list[Traced], list[FileReport]]:
    """The files that the arguments name and their reports, with the edits of advice tried.

    Raises:
        UsageError: nothing to analyse.
    """
    with worker_pool(arguments.jobs, captured_calls(arguments)) as pool:
        traced = trace_in(pool, arguments)
        reports = reports_of(traced, arguments.jobs)
        reports = with_tried_edits(pool, traced, reports, arguments)
    return traced, _with_measured(traced, reports)


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
    _store().prune()
    if not any(
        file.source.kernels or file.source.problems or file.result.problems for file in traced
    ):
        described = any(file.source.has_tensor_expressions for file in traced)
        hint = f": {_NO_FUNCTION}" if described else ""
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
            traced = await _trace_file(path, arguments, options, pool)
            done += 1
            return traced

    return list(await asyncio.gather(*map(one, paths)))


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
        jobs, multiprocessing.get_context(_START_METHOD), own_process.hide
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


def trace_file(
    path: Path,
    arguments: argparse.Namespace,
    options: Options,
    pool: WorkerPool,
    place: Place,
) -> Traced:
    """Run one file as `place` says."""
    return pool.run(_trace_file(path, arguments, options, pool, place))


@dataclass(frozen=True)
class Place:
    """Where a text belongs that is analysed for another reason than that a command names it.

    Attributes
    ----------
    project_of
        The file whose settings and interpreter it has.
    with_calls
        Puts the calls of its kernels into a text that was read.
    sys_path
        Folders to import from, before those of the interpreter.
    """

    project_of: Path
    with_calls: Callable[[SourceFile], SourceFile]
    sys_path: Sequence[str] = ()


async def _trace_file(
    path: Path,
    arguments: argparse.Namespace,
    options: Options,
    pool: WorkerPool,
    place: Place | None = None,
) -> Traced:
    project_of = place.project_of if place else path
    project, wrong = Settings.from_pyproject(project_of.absolute().parent)
    for message in () if place else wrong:
        print(f"tirlens: {message}", file=sys.stderr)
    timeout = arguments.timeout or project.timeout_s or DEFAULT_TIMEOUT_S
    options = replace(options, project=project, time_limit_s=timeout)
    read = await asyncio.to_thread(read_file, path)
    if read.problem is not None:
        result = Result(0, problems=(read.problem,))
        return Traced(str(path), "", SourceFile(), result, options)
    text = read.text
    found = source.read(text)
    if place is not None:
        found = await asyncio.to_thread(place.with_calls, found)
    elif not arguments.call:
        found = await asyncio.to_thread(pool.calls.with_calls, found, path, options.by_launches)
    untraced = Traced(str(path), text, found, Result(1), options, read.notebook)
    request = pipeline.analysis_request(1, str(path.absolute()), text, found, options)
    request = replace(request, sys_path=tuple(place.sys_path) if place else ())
    if not request.kernels:
        return untraced
    interpreter = find_interpreter(
        project_of,
        setting=arguments.python or project.python,
        framework_hint=found.framework_hint,
    )
    if interpreter.problem is not None:
        problem = replace(interpreter.problem, span=found.framework_import)
        return replace(untraced, result=Result(1, problems=(problem,)))
    interpreter = replace(interpreter, variables=project.environment)
    devices = [
        replace(
            options, device=device, force_device=options.force_device or len(arguments.device) > 1
        )
        for device in arguments.device or [None]
    ]
    lowered_for = devices if _lowers(arguments, project) else []
    untraced = replace(untraced, interpreter=interpreter, lowered_for=tuple(lowered_for))
    result = await _stored_result(pool, untraced, request, arguments.fresh)
    return replace(untraced, result=result)


async def _stored_result(
    pool: WorkerPool, traced: Traced, request: Analyze, is_fresh: bool
) -> Result:
    """The result of a request in the interpreter of `traced`, from the store if it is there."""
    assert traced.interpreter is not None
    store = _store()
    key = _result_key(request, traced.interpreter, traced.lowered_for, traced.source)
    result = None if is_fresh else store.find(key)
    if result is None:
        steps = [
            await _analyze_step(pool, traced.interpreter, step, traced.source, traced.lowered_for)
            for step in steps_by_calls(request)
        ]
        result = merge_steps([result for result, _ in steps])
        if all(is_complete for _, is_complete in steps):
            store.add(key, result)
    return result


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
        result = await _stored_result(pool, changed, request, arguments.fresh)
        done += 1
        return trial.outcome(result, file.options, file.path)

    outcomes = await asyncio.gather(*(one(file, trial) for file, trial in found))
    return {trial.key: outcome for (_, trial), outcome in zip(found, outcomes, strict=True)}


async def _analyze_step(
    pool: WorkerPool,
    interpreter: Interpreter,
    request: Analyze,
    found: SourceFile,
    lowered_for: Sequence[Options],
) -> tuple[Result, bool]:
    """The result of a request with its lowerings, and whether all of them were finished."""
    result = await pool.analyze(
        interpreter, request, lambda progress: pool.say(f"{request.path}: {progress.message}")
    )
    is_complete = True
    for on_device in lowered_for:
        lowering = await _lower(pool, interpreter, request, result, found, on_device)
        is_complete &= not any(item.unfinished for item in lowering.lowered)
        result = pipeline.merge_lowerings(result, lowering)
    return result, is_complete


def _store() -> ResultStore:
    return ResultStore(platformdirs.user_cache_path("tirlens") / "results")


def _result_key(
    request: Analyze, interpreter: Interpreter, lowered_for: Sequence[Options], found: SourceFile
) -> str:
    kernels = [*found.kernels, None]
    archs = sorted(
        {
            choose_device(kernel, None, options).device.arch
            for options in lowered_for
            for kernel in kernels
        }
    )
    variables = {
        name: value
        for name, value in worker_environment(os.environ, interpreter.variables).items()
        if name not in TERMINAL_VARIABLES
    }
    return result_key(request, interpreter.identity, variables, archs)


def _lowers(arguments: argparse.Namespace, project: Settings) -> bool:
    """Whether to lower: by the option, else by the project's settings, else yes."""
    asked = project.lower if arguments.lower is None else bool(arguments.lower)
    return asked is not False


async def _lower(
    pool: WorkerPool,
    interpreter: Interpreter,
    first: Analyze,
    result: Result,
    found: SourceFile,
    options: Options,
) -> Result:
    """The lowerings of the kernels of `result` for the architectures of their devices."""
    request = pipeline.lowering_request(first, result, found, options)
    if request is None:
        return Result(first.id)
    answer = await pool.analyze(
        interpreter, request, lambda note: pool.say(f"{first.path}: lowering {note.message}")
    )
    return pipeline.complete_lowering(request, answer)
