"""The exit status of a command, and its messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tirlens.hardware import Device
from tirlens.ide import labels, places
from tirlens.ide.escaping import visible
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.device_choice import choose_device
from tirlens_worker.protocol import Problem

LIMIT_EXCEEDED = 3
"""The exit status where a limit is exceeded: a budget, or the growth that a gate allows."""


def status(reports: Sequence[FileReport]) -> int:
    """The exit status for reports: `LIMIT_EXCEEDED` if a kernel exceeds its budget, else 1 if a
    kernel could not be analysed or a choice of the user is wrong."""
    if any(kernel.over_budget for file in reports for kernel in file.kernels):
        return LIMIT_EXCEEDED
    return 1 if any(_has_failed(file) for file in reports) else 0


def _has_failed(file: FileReport) -> bool:
    if file.needs or not all(kernel.has_counts for kernel in file.kernels):
        return True
    if any(kernel.lowering_error for kernel in file.kernels):
        return True
    return any(not (file.kernels and _is_notice(problem)) for problem in file.problems)


def _is_notice(problem: Problem) -> bool:
    """Whether `problem` is about statements beside the kernels, which have their figures."""
    return problem.kernel is None and problem.kind in ("import", "trace", "unsupported", "memory")


def device_of(reports: Sequence[FileReport], options: Options) -> Device:
    """The device of the whole output: the first kernel's, or a kernel's default."""
    for file in reports:
        if file.devices:
            return file.devices[0]
    return choose_device(None, None, options).device


def print_problems(reports: Sequence[FileReport]) -> None:
    """Print problems on standard error, as ``file:line:column: kind: message``."""
    for file in reports:
        # A problem that affects several kernels is printed once.
        distinct = {(problem.message, problem.span): problem for problem in file.problems}
        for problem in distinct.values():
            place = places.position(file.path, problem.span)
            _print_line(f"{place}: {problem.kind}: {problem.message}")
        for needs in file.needs:
            names = ", ".join(needs.names) or "arguments"
            given = ", ".join(f"{name}=..." for name in needs.names) or "..."
            tried = f" (tried {needs.reason})" if needs.reason else ""
            place = places.place(file.path, needs.span)
            _print_line(
                f"{place}:1: needs-bindings: {needs.kernel} needs {names}; "
                f"give them by --call or by a comment: # tirlens: {needs.kernel}({given}){tried}"
            )


def print_exceeded_budgets(reports: Sequence[FileReport]) -> None:
    """Print the budgets that kernels exceed, in the form of `print_problems`."""
    for file in reports:
        for kernel in file.kernels:
            for excess in labels.over_budget(kernel):
                place = places.position(file.path, kernel.span)
                text = f"{labels.title(kernel)} {excess} on {kernel.device_id}"
                _print_line(f"{place}: over-budget: {text}")


def print_note(message: str) -> None:
    """Print a remark on standard error."""
    _print_line(f"tirlens: {message}")


def _print_line(text: str) -> None:
    print(visible(text), file=sys.stderr)
