"""Analyse the files that a command names."""

from __future__ import annotations

import argparse
import glob
import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tirlens import pipeline, source
from tirlens.cli.errors import UsageError
from tirlens.cli.output import ShowProgress, progress
from tirlens.hardware import DeviceError, load
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.analysis_request import root_name, selected_kernels
from tirlens.settings import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S, Settings
from tirlens.source import SourceFile
from tirlens.source.directives import integer
from tirlens.worker_client import BlockingClient, Interpreter, find_interpreter
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Analyze, Problem, Result

_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "build", "dist"}


@dataclass(frozen=True)
class Traced:
    """One file as it is on disk, and the worker's result for its kernels."""

    path: str
    text: str
    source: SourceFile
    result: Result
    options: Options

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


@dataclass
class Workers:
    """One warm worker for each interpreter and environment that the files need."""

    stack: ExitStack
    say: ShowProgress
    clients: dict[tuple[Path, tuple[str, ...]], BlockingClient] = field(
        default_factory=dict[tuple[Path, tuple[str, ...]], BlockingClient]
    )

    def client(self, interpreter: Interpreter) -> BlockingClient:
        """The worker under an interpreter, started if there is none."""
        key = interpreter.path, interpreter.variables
        if key not in self.clients:
            self.clients[key] = self.stack.enter_context(BlockingClient(interpreter))
        return self.clients[key]


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
        bindings=dict(_binding(item) for item in arguments.bind),
        calls=tuple(arguments.call),
        kernels=tuple(arguments.kernel),
        advice=arguments.advice,
    )


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
    """The Python files that files, folders and patterns name, each once.

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


@contextmanager
def workers() -> Generator[Workers, None, None]:
    """Workers that stay warm from file to file, with progress on a terminal."""
    with ExitStack() as stack, progress() as say:
        yield Workers(stack, say)


def trace(arguments: argparse.Namespace) -> list[Traced]:
    """Run the files that the arguments name, in workers of their own.

    Raises:
        UsageError: nothing to analyse.
    """
    with workers() as warm:
        return trace_in(warm, arguments)


def trace_in(warm: Workers, arguments: argparse.Namespace) -> list[Traced]:
    """Run the files that the arguments name.

    Raises:
        UsageError: nothing to analyse.
    """
    options = options_of(arguments)
    paths = paths_of(arguments.files)
    traced: list[Traced] = []
    for number, path in enumerate(paths, 1):
        warm.say(f"{number}/{len(paths)} {path}")
        done = trace_file(path, arguments, options, warm)
        # A folder holds much that has nothing to do with kernels.
        if done.source.kernels or done.result.problems or len(paths) == 1:
            traced.append(done)
    if not any(
        file.source.kernels or file.source.problems or file.result.problems for file in traced
    ):
        raise UsageError(f"no kernels in {', '.join(arguments.files)}")
    if not any(selected_kernels(file.source, file.options) for file in traced):
        _refuse_selection(arguments, traced)
    _check_bindings(options.bindings, traced)
    return traced


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
    warm: Workers,
    project_of: Path | None = None,
    sys_path: Sequence[str] = (),
) -> Traced:
    """Run one file; with `project_of` under the settings and the interpreter of that file, and
    with the folders `sys_path` before those of the interpreter."""
    project_of = project_of or path
    project, wrong = Settings.from_pyproject(project_of.absolute().parent)
    for message in wrong if project_of is path else ():
        print(f"tirlens: {message}", file=sys.stderr)
    timeout = arguments.timeout or project.timeout_s or DEFAULT_TIMEOUT_S
    options = replace(options, project=project, time_limit_s=timeout)
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problems = (unreadable(error),)
        return Traced(str(path), "", SourceFile(), Result(0, problems=problems), options)
    found = source.read(text)
    request = pipeline.analysis_request(1, str(path.absolute()), text, found, options)
    request = replace(request, sys_path=tuple(sys_path))
    if not request.kernels:
        return Traced(str(path), text, found, Result(1), options)
    interpreter = find_interpreter(
        project_of,
        setting=arguments.python or project.python,
        framework_hint=found.framework_hint,
    )
    if interpreter.problem is not None:
        return Traced(str(path), text, found, Result(1, problems=(interpreter.problem,)), options)
    interpreter = replace(interpreter, variables=project.environment)
    client = warm.client(interpreter)
    result = client.analyze(request, lambda progress: warm.say(f"{path}: {progress.message}"))
    if _lowers(arguments, project):
        for device in arguments.device or [None]:
            on_device = replace(options, device=device, force_device=len(arguments.device) > 1)
            result = _resolve_lower(client, request, result, found, on_device, warm.say)
    return Traced(str(path), text, found, result, options)


def unreadable(error: OSError | UnicodeDecodeError) -> Problem:
    """What is wrong with a file that has no text for us, at the line of the byte that is wrong."""
    if isinstance(error, OSError):
        return Problem("import", f"cannot be read: {error.strerror}")
    before = error.object[: error.start].decode("utf-8").split("\n")
    line, column = len(before), len(before[-1])
    message = f"is not UTF-8: {error.reason} at byte {error.start}"
    return Problem("syntax", message, Span(line, column, line, column + 1))


def _lowers(arguments: argparse.Namespace, project: Settings) -> bool:
    """Whether to lower: by the option or the project, else only for a single file."""
    asked = project.lower if arguments.lower is None else bool(arguments.lower)
    return len(paths_of(arguments.files)) == 1 if asked is None else asked


def _resolve_lower(
    client: BlockingClient,
    first: Analyze,
    result: Result,
    found: SourceFile,
    options: Options,
    say: ShowProgress,
) -> Result:
    """`result` with its kernels lowered for the architectures of their devices."""
    request = pipeline.lowering_request(first, result, found, options)
    if request is None:
        return result
    answer = client.analyze(request, lambda note: say(f"{first.path}: lowering {note.message}"))
    return pipeline.merge_lowerings(result, pipeline.complete_lowering(request, answer))


def _refuse_selection(arguments: argparse.Namespace, traced: Sequence[Traced]) -> None:
    names = [kernel.name for file in traced for kernel in file.source.kernels]
    if not names:
        return
    selection = [*arguments.kernel, *arguments.call] or ["all (they are turned off)"]
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise UsageError(f"no kernel matches {', '.join(selection)}; there are: {listed}")
