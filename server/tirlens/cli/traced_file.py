"""One file: its text, and the result of a worker for its kernels."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from tirlens import pipeline, source
from tirlens.cli.call_steps import merge_steps, steps_by_calls
from tirlens.cli.file_text import read_file
from tirlens.cli.worker_pool import TERMINAL_VARIABLES, WorkerPool
from tirlens.ide.notebook_file import NotebookFile
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.device_choice import choose_device
from tirlens.pipeline.result_store import ResultStore, result_key
from tirlens.settings import DEFAULT_TIMEOUT_S, Settings
from tirlens.source import SourceFile
from tirlens.worker_client import Interpreter, find_interpreter
from tirlens.worker_client.process import worker_environment
from tirlens_worker.protocol import Analyze, Result


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


async def trace_file(
    path: Path,
    arguments: argparse.Namespace,
    options: Options,
    pool: WorkerPool,
    place: Place | None = None,
) -> Traced:
    """Run one file in a worker of `pool`, as `place` says."""
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
    found = source.read(text, project_of)
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
    result = await stored_result(pool, untraced, request, arguments.fresh)
    return replace(untraced, result=result)


async def stored_result(
    pool: WorkerPool, traced: Traced, request: Analyze, is_fresh: bool
) -> Result:
    """The result of a request in the interpreter of `traced`, from the store if it is there."""
    assert traced.interpreter is not None
    store = result_store()
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


def _lowers(arguments: argparse.Namespace, project: Settings) -> bool:
    """Whether to lower: by the option, else by the project's settings, else yes."""
    asked = project.lower if arguments.lower is None else bool(arguments.lower)
    return asked is not False


def result_store() -> ResultStore:
    """The results of earlier analyses on disk."""
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
