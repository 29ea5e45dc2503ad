"""Reports of calls that yield no kernel: a problem, or the missing arguments."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Optional, Sequence, Tuple, Union

from .. import framework_names
from ..program import forks, other_versions
from ..program.document import describe, missing_name
from ..program.load import Loaded
from ..protocol import CallCandidate, KernelRequest, NeedsArguments, Problem
from . import listed_values
from .kernels import NoKernelError


@dataclass(frozen=True)
class Failure:
    """A call and its error."""

    candidate: CallCandidate
    error: BaseException


class ArgumentsError(Exception):
    """No values were found for the parameters `names`."""

    def __init__(self, names: Tuple[str, ...], reason: str) -> None:
        super().__init__(reason)
        self.names = names


def required_problem(
    loaded: Loaded, request: KernelRequest, candidate: CallCandidate, error: BaseException
) -> Problem:
    """The problem of a call that the user requires: at the failing line, else at the directive.

    The problem of a call in an option is at the kernel.
    """
    root = _root_problem(loaded, request, error) or _fork_problem(loaded, request, error)
    if root is not None:
        return root
    problem = loaded.document.problem(
        "memory" if isinstance(error, MemoryError) else "trace", error, request.name
    )
    inside = problem.span is not None and problem.kind != "directive"
    if isinstance(error, (NoKernelError, SyntaxError)) or not inside:
        # The messages of `NoKernelError` name the call already.
        message = str(error) if isinstance(error, NoKernelError) else None
        return Problem(
            kind="directive" if candidate.source == "directive" else "trace",
            message=message
            or "{}: {}{}".format(
                candidate.expression, describe(error), _sizes_by_name(loaded, request, error)
            ),
            span=candidate.span or request.span,
            kernel=request.name,
            detail=problem.detail,
        )
    return problem


def _sizes_by_name(loaded: Loaded, request: KernelRequest, error: BaseException) -> str:
    """A hint on how to pass sizes to an eager kernel, if they were passed instead of arrays."""
    path = loaded.document.definitions_along(request.name, request.span.line)
    names = listed_values.constants_of(path[-1]) if path and request.style == "eager" else ()
    if not names or not isinstance(error, (AttributeError, TypeError)):
        return ""
    sizes = ", ".join("{}=4096".format(name) for name in names)
    return " (its parameters are arrays; sizes are given by name: {}({}))".format(
        request.name, sizes
    )


def explain(
    loaded: Loaded,
    request: KernelRequest,
    failures: Sequence[Failure],
    missing: Tuple[str, ...],
) -> Union[Problem, NeedsArguments]:
    """The reason why no call yields a kernel; `missing` are parameters without a value."""
    if not failures:
        return NeedsArguments(request.name, missing, request.span)
    for failure in failures:
        fork = _fork_problem(loaded, request, failure.error)
        if fork is not None:
            return fork
        foreign = other_versions.foreign_word(failure.error)
        if foreign:
            at = loaded.document.problem("trace", failure.error, request.name, at=request.span)
            return replace(at, message=foreign)
        root = _root_problem(loaded, request, failure.error)
        if root is not None:
            return root
        if isinstance(failure.error, ArgumentsError):
            reason = str(failure.error)
            names = failure.error.names
            return NeedsArguments(request.name, names, request.span, reason)
        if isinstance(failure.error, NameError) and missing_name(failure.error) in missing:
            reason = describe(failure.error)
            return NeedsArguments(request.name, missing, request.span, reason)
    given = [failure for failure in failures if failure.candidate.source != "assumed"]
    first = (given or list(failures))[0]
    if isinstance(first.error, NameError):
        # No arguments define a name that is not a parameter.
        at = loaded.document.problem("trace", first.error, request.name, at=request.span)
        return replace(at, message=at.message + _stars(loaded))
    kind = "memory" if isinstance(first.error, MemoryError) else "trace"
    problem = loaded.document.problem(kind, first.error, request.name, at=request.span)
    if isinstance(first.error, NoKernelError):
        # Its message names the call already.
        problem = replace(problem, message=str(first.error))
    if missing and not given:
        reason = _reason(loaded, request, first, problem)
        return NeedsArguments(request.name, missing, request.span, reason)
    return problem


def _reason(loaded: Loaded, request: KernelRequest, failure: Failure, problem: Problem) -> str:
    """Why a call with assumed arguments fails, and at which line."""
    if isinstance(failure.error, NoKernelError):
        return problem.message
    line = problem.span.line if problem.span is not None else request.span.line
    at = " (line {})".format(line) if line != request.span.line else ""
    return "{}: {}{}".format(failure.candidate.expression, describe(failure.error), at)


def _fork_problem(
    loaded: Loaded, request: KernelRequest, error: BaseException
) -> Optional[Problem]:
    """The problem of a program that is for a fork of tilelang for other processors."""
    found = forks.fork_message(loaded.document.tree, error)
    if found is None:
        return None
    line, message = found
    return Problem("trace", message, loaded.document.span_of_line(line), request.name)


def _stars(loaded: Loaded) -> str:
    """A hint on the import by ``*`` that may define the name in another framework version."""
    modules = [
        node.module
        for node in ast.walk(loaded.document.tree)
        if isinstance(node, ast.ImportFrom)
        and node.names[0].name == "*"
        and (node.module or "").partition(".")[0] in framework_names.MODULES
    ]
    form = " ('from {} import *' does not bring it in this version)"
    return form.format(modules[0]) if modules else ""


def _root_problem(
    loaded: Loaded, request: KernelRequest, error: BaseException
) -> Optional[Problem]:
    """The problem of the statement of the module whose failure caused `error`, if any."""
    if not isinstance(error, NameError):
        return None
    name = missing_name(error)
    cause = loaded.why_missing(name)
    if cause is None:
        return None
    is_kernel = name == request.name.split(".")[0]
    message = cause.message if is_kernel else "'{}' is missing: {}".format(name, cause.message)
    return Problem(cause.kind, message, cause.span, request.name, cause.detail)
