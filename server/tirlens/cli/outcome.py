"""How a command ends: its exit status, and what it says on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tirlens.hardware import Device
from tirlens.ide import labels
from tirlens.pipeline import FileReport, Options
from tirlens.pipeline.device_choice import choose_device

OVER = 3
"""The exit status where a limit is exceeded: a budget, or the growth that a gate allows."""


def status(reports: Sequence[FileReport]) -> int:
    """The exit status for reports: `OVER` if a kernel exceeds its budget, else 1 if anything in
    them could not be analysed."""
    if any(kernel.over_budget for file in reports for kernel in file.kernels):
        return OVER
    failed = any(
        file.problems or file.needs or any(kernel.status != "ok" for kernel in file.kernels)
        for file in reports
    )
    return 1 if failed else 0


def device_of(reports: Sequence[FileReport], options: Options) -> Device:
    """The device to name above all: the first kernel's, or what a kernel would get."""
    for file in reports:
        if file.devices:
            return file.devices[0]
    return choose_device(None, None, options).device


def say_problems(reports: Sequence[FileReport]) -> None:
    """What could not be analysed, as ``file:line:column: kind: message`` on standard error."""
    for file in reports:
        # What takes several kernels with it is said once.
        told = {(problem.message, problem.span): problem for problem in file.problems}
        for problem in told.values():
            line, column = (problem.span.line, problem.span.column + 1) if problem.span else (1, 1)
            place = (problem.span and problem.span.file) or file.path
            print(f"{place}:{line}:{column}: {problem.kind}: {problem.message}", file=sys.stderr)
        for needs in file.needs:
            names = ", ".join(needs.names) or "arguments"
            tried = f" (tried {needs.reason})" if needs.reason else ""
            print(
                f"{file.path}:{needs.span.line}:1: needs-bindings: {needs.kernel} needs {names}; "
                f"give them by --call or by a comment: # tirlens: {needs.kernel}(...){tried}",
                file=sys.stderr,
            )


def say_budgets(reports: Sequence[FileReport]) -> None:
    """The budgets that are exceeded, in the same form."""
    for file in reports:
        for kernel in file.kernels:
            for excess in labels.over_budget(kernel):
                place = f"{file.path}:{kernel.span.line}:{kernel.span.column + 1}"
                told = f"{labels.title(kernel)} {excess} on {kernel.device_id}"
                print(f"{place}: over-budget: {told}", file=sys.stderr)


def note(message: str) -> None:
    """A remark on standard error."""
    print(f"tirlens: {message}", file=sys.stderr)
