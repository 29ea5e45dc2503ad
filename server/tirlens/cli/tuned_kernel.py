"""The kernel that `tune` and `sweep` search for, read from the file that a command names."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from tirlens import own_process, source
from tirlens.cli.command_options import options_of
from tirlens.cli.errors import UsageError
from tirlens.cli.file_analysis import START_METHOD
from tirlens.cli.file_text import read_file
from tirlens.cli.outcome import print_note
from tirlens.cli.worker_pool import WorkerPool
from tirlens.hardware import Device
from tirlens.ide import labels
from tirlens.settings import DEFAULT_TIMEOUT_S, Settings
from tirlens.tuning import (
    Analyse,
    EstimateCalls,
    EstimateStore,
    Progress,
    Subject,
    SubjectError,
    estimator,
    store_key,
    subject_of,
)
from tirlens.worker_client import Interpreter, find_interpreter
from tirlens.worker_client.process import analysis_variables
from tirlens_worker.protocol import Analyze, Result

# The start of a process that has the model takes as long as the model takes for about these.
_CALLS_WORTH_PROCESSES = 300


@dataclass(frozen=True)
class TunedKernel:
    """The subject of a search, and the interpreter under which it is traced."""

    path: str
    subject: Subject
    interpreter: Interpreter

    def analyse(self, pool: WorkerPool) -> Analyse:
        """Analyses requests in the workers of `pool`."""

        async def analyse(request: Analyze) -> Result:
            return await pool.analyze(self.interpreter, request, lambda progress: None)

        return analyse

    @contextmanager
    def estimators(
        self, pool: WorkerPool, devices: Sequence[Device], calls: int, is_fresh: bool
    ) -> Generator[Callable[[Subject], EstimateCalls], None, None]:
        """Estimates calls of the subject, or of it with other sizes, by the workers of `pool`.

        The model of many calls runs in processes of its own, or in those of the pool's executor.
        """
        known = analysis_variables(self.interpreter.variables)
        folder = platformdirs.user_cache_path("tirlens") / "tuning"
        stores: list[EstimateStore] = []

        def estimate_of(subject: Subject) -> EstimateCalls:
            store = None
            if not is_fresh:
                key = store_key(subject, devices, self.interpreter.identity, known)
                store = EstimateStore(folder, key)
                stores.append(store)
            return estimator(subject, devices, self.analyse(pool), executor, store)

        with _executor(calls, pool) as executor:
            yield estimate_of
        for store in stores[:1]:
            store.prune()


@contextmanager
def _executor(calls: int, pool: WorkerPool) -> Generator[Executor | None, None, None]:
    """Processes for the model, where there is enough to do for them."""
    if pool.executor is not None or pool.jobs == 1 or calls < _CALLS_WORTH_PROCESSES:
        yield pool.executor
        return
    with ProcessPoolExecutor(
        pool.jobs, multiprocessing.get_context(START_METHOD), own_process.hide
    ) as executor:
        yield executor


def read_kernel(arguments: argparse.Namespace, pool: WorkerPool) -> TunedKernel:
    """The kernel that the arguments name.

    Raises:
        UsageError: there is no such file or kernel, or no interpreter for it.
    """
    path = Path(arguments.file)
    options = options_of(arguments)
    project, wrong = Settings.from_pyproject(path.absolute().parent)
    for message in wrong:
        print_note(message)
    timeout_s = arguments.timeout or project.timeout_s or DEFAULT_TIMEOUT_S
    options = replace(options, project=project, time_limit_s=timeout_s)
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    read = read_file(path)
    if read.problem is not None:
        raise UsageError(f"{path}: {read.problem.message}")
    found = source.read(read.text, path)
    if found.problems:
        first = found.problems[0]
        raise UsageError(f"{path}:{first.span.line}: {first.message}")
    if not arguments.call:
        found = pool.calls.with_calls(found, path)
    try:
        subject = subject_of(str(path.absolute()), read.text, found, options)
    except SubjectError as error:
        raise UsageError(str(error)) from error
    interpreter = find_interpreter(
        path, setting=arguments.python or project.python, framework_hint=found.framework_hint
    )
    if interpreter.problem is not None:
        raise UsageError(interpreter.problem.message)
    return TunedKernel(str(path), subject, replace(interpreter, variables=project.environment))


def show_progress(pool: WorkerPool, noun: str) -> Callable[[Progress], None]:
    """Shows the progress of a search on a terminal, with the time that is left."""

    def show(progress: Progress) -> None:
        left = "" if progress.left_s is None else f", {labels.seconds(progress.left_s)} left"
        pool.say(f"{progress.done:,}/{progress.total:,} {noun}{left}")

    return show
