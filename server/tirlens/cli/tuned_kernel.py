"""The kernel that `tune` and `sweep` search for, read from the file that a command names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tirlens import source
from tirlens.cli.command_options import options_of
from tirlens.cli.errors import UsageError
from tirlens.cli.file_text import read_file
from tirlens.cli.outcome import print_note
from tirlens.cli.worker_pool import WorkerPool
from tirlens.hardware import Device
from tirlens.settings import DEFAULT_TIMEOUT_S, Settings
from tirlens.tuning import (
    Analyse,
    Estimate,
    EstimateCalls,
    Subject,
    SubjectError,
    estimates_of,
    subject_of,
)
from tirlens.worker_client import Interpreter, find_interpreter
from tirlens_worker.protocol import Analyze, Result


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

    def estimate(self, pool: WorkerPool, devices: Sequence[Device]) -> EstimateCalls:
        """Estimates calls by the workers of `pool` and the model in this process."""
        analyse, subject = self.analyse(pool), self.subject

        async def estimate(calls: Sequence[str]) -> dict[str, tuple[Estimate, ...]]:
            result = await analyse(subject.request_for(calls))
            return estimates_of(calls, result, devices, subject.bindings)

        return estimate


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
