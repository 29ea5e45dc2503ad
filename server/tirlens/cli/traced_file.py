"""One file: its text, and the result of a worker for its kernels."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from tirlens import pipeline, source
from tirlens.cli.call_steps import merge_steps, steps_by_calls
from tirlens.cli.file_text import read_file
from tirlens.cli.worker_pool import WorkerPool
from tirlens.hardware import Device
from tirlens.ide.notebook_file import NotebookFile
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.compilation_request import (
    compilation_request,
    compilation_steps,
    complete_compilation,
    merge_compilations,
)
from tirlens.pipeline.device_choice import choose_device
from tirlens.pipeline.result_store import ResultStore, result_key
from tirlens.pipeline.tiers import as_written, without_compilation
from tirlens.settings import DEFAULT_TIMEOUT_S, Settings
from tirlens.source import SourceFile
from tirlens.worker_client import Interpreter, find_interpreter
from tirlens.worker_client.process import analysis_variables
from tirlens.worker_client.toolchain import NO_TOOLCHAIN, Toolchain, find_toolchain
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Analyze, Compilation, Result


@dataclass(frozen=True)
class Traced:
    """One file as it is on disk, and the worker's result for its kernels.

    `text` is that of the Python cells of a `notebook`.  `lowered_for` are the options for which it
    was lowered, by the worker of `interpreter`, and compiled by `toolchain`.
    """

    path: str
    text: str
    source: SourceFile
    result: Result
    options: Options
    notebook: NotebookFile | None = None
    interpreter: Interpreter | None = None
    lowered_for: Sequence[Options] = ()
    toolchain: Toolchain = NO_TOOLCHAIN

    def report(self, **changes: object) -> FileReport:
        """The file's report with some options changed; only the model runs."""
        options = replace(self.options, **changes)  # pyright: ignore[reportArgumentType]
        return pipeline.file_report(self.source, self.result, options, self.path)

    def without_compilation(self) -> Traced:
        """A copy without what the compiler made of the kernels."""
        return self._with_kernels(without_compilation)

    def as_written(self) -> Traced:
        """A copy without the results of lowering, and of what the compiler made of them."""
        return self._with_kernels(as_written)

    def _with_kernels(self, change: Callable[[KernelFacts], KernelFacts]) -> Traced:
        kernels = tuple(map(change, self.result.kernels))
        return replace(self, result=replace(self.result, kernels=kernels))

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
    lowers = _asks_for(arguments.lower, project.lower)
    compiles = lowers and _asks_for(arguments.compile, project.compile)
    several = len(arguments.device) > 1
    devices = [
        replace(
            options,
            device=device,
            force_device=options.force_device or several,
            compile=compiles,
        )
        for device in arguments.device or [None]
    ]
    lowered_for = devices if lowers else []
    toolchain = find_toolchain(interpreter.path) if compiles else NO_TOOLCHAIN
    untraced = replace(
        untraced,
        interpreter=interpreter,
        lowered_for=tuple(lowered_for),
        toolchain=NO_TOOLCHAIN if toolchain.missing else toolchain,
    )
    result = await stored_result(pool, untraced, request, arguments.fresh)
    return replace(untraced, result=result)


async def stored_result(
    pool: WorkerPool, traced: Traced, request: Analyze, is_fresh: bool
) -> Result:
    """The result of a request in the interpreter of `traced`, from the store if it is there."""
    assert traced.interpreter is not None
    store = result_store()
    key = _result_key(request, traced)
    result = None if is_fresh else store.find(key)
    if result is None:
        steps = [await _analyze_step(pool, traced, step) for step in steps_by_calls(request)]
        result = merge_steps([result for result, _ in steps])
        if all(is_complete for _, is_complete in steps):
            store.add(key, result)
    return result


async def _analyze_step(pool: WorkerPool, traced: Traced, request: Analyze) -> tuple[Result, bool]:
    """The result of a request with its further tiers, and whether all of them were finished."""
    assert traced.interpreter is not None
    result = await pool.analyze(
        traced.interpreter,
        request,
        lambda progress: pool.say(f"{request.path}: {progress.message}"),
    )
    is_complete = True
    for on_device in traced.lowered_for:
        lowering = await _lower(pool, traced, request, result, on_device)
        is_complete &= not any(item.unfinished for item in lowering.lowered)
        result = pipeline.merge_lowerings(result, lowering)
    for on_device in traced.lowered_for:
        compiled = await _compile(pool, traced, request, result, on_device)
        is_complete &= not any(item.unfinished for item in compiled.compiled)
        result = merge_compilations(result, compiled)
    return result, is_complete


async def _lower(
    pool: WorkerPool, traced: Traced, first: Analyze, result: Result, options: Options
) -> Result:
    """The lowerings of the kernels of `result` for the architectures of their devices."""
    assert traced.interpreter is not None
    request = pipeline.lowering_request(first, result, traced.source, options)
    if request is None:
        return Result(first.id)
    answer = await pool.analyze(
        traced.interpreter,
        request,
        lambda note: pool.say(f"{first.path}: lowering {note.message}"),
    )
    return pipeline.complete_lowering(request, answer)


async def _compile(
    pool: WorkerPool, traced: Traced, first: Analyze, result: Result, options: Options
) -> Result:
    """What the compiler makes of the kernels of `result` for the architectures of their devices."""
    assert traced.interpreter is not None
    compiler = traced.toolchain.compiler
    request = compilation_request(first, result, traced.source, options, compiler)
    found: list[Compilation] = []
    for step in compilation_steps(request) if request is not None else ():
        answer = await pool.analyze(
            traced.interpreter,
            step,
            lambda note: pool.say(f"{first.path}: compiling {note.message}"),
        )
        answer = await asyncio.to_thread(complete_compilation, step, answer, result.kernels)
        found += answer.compiled
    return Result(first.id, compiled=tuple(found))


def _asks_for(option: bool | None, setting: bool | None) -> bool:
    """Whether a tier is asked for: by the option, else by the project's settings, else yes."""
    asked = setting if option is None else option
    return asked is not False


def result_store() -> ResultStore:
    """The results of earlier analyses on disk."""
    return ResultStore(platformdirs.user_cache_path("tirlens") / "results")


def _target_of(device: Device, options: Options) -> str:
    """The architecture or processor that kernels are lowered and compiled for."""
    if device.cpu is None or not options.compile:
        return device.arch
    return device.cpu.processor or device.arch


def _result_key(request: Analyze, traced: Traced) -> str:
    assert traced.interpreter is not None
    interpreter = traced.interpreter
    kernels = [*traced.source.kernels, None]
    archs = sorted(
        {
            _target_of(choose_device(kernel, None, options).device, options)
            for options in traced.lowered_for
            for kernel in kernels
        }
    )
    variables = analysis_variables(interpreter.variables)
    tools = [*archs, *traced.toolchain.identity]
    return result_key(request, interpreter.identity, variables, tools)
