"""Diagnostics: problems of an analysis, each at the line that causes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tirlens.ide import labels
from tirlens_worker.facts import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.model.report import KernelReport
    from tirlens.source.source_file import SourceFile
    from tirlens_worker.protocol import Problem

Severity = Literal["error", "warning", "information", "hint"]

FILE_TOP = Span(1, 0, 1, 0)

# Other tools report syntax errors as errors, too.  A failed analysis is no error of the program
# and therefore a warning.
_SEVERITIES: dict[str, Severity] = {
    "syntax": "error",
    "directive": "error",
    "import": "warning",
    "trace": "warning",
    "timeout": "warning",
    "crash": "warning",
    "memory": "warning",
    "unsupported": "information",
    "interpreter": "warning",
    "untrusted": "information",
}


@dataclass(frozen=True)
class Diagnostic:
    """One finding; `code` is the contract's word for its kind."""

    span: Span
    severity: Severity
    message: str
    code: str


_STOPPING = frozenset({"timeout", "crash", "memory", "import", "interpreter"})


def of_source(source: SourceFile) -> list[Diagnostic]:
    """What the text alone says: syntax errors, wrong directives, and what it has no kernel for."""
    found = [
        Diagnostic(
            problem.span, _SEVERITIES.get(problem.kind, "error"), problem.message, problem.kind
        )
        for problem in source.problems
    ]
    is_whole = not any(problem.kind == "syntax" for problem in source.problems)
    if is_whole and source.looked_for and not source.has_tensor_expressions:
        message = f"no kernel in this file: {source.looked_for}"
        found.append(Diagnostic(FILE_TOP, "hint", message, "no-kernel"))
    return found


def of_problems(problems: Sequence[Problem]) -> list[Diagnostic]:
    """The problems of the worker, one diagnostic for each span and message.

    A problem that stops the whole file is reported once, not for each of its kernels.
    """
    found: dict[tuple[Span, str], Diagnostic] = {}
    of_file = {problem.kind for problem in problems if problem.kernel is None} & _STOPPING
    for problem in problems:
        if problem.kernel is not None and problem.kind in of_file:
            continue
        span = problem.span
        where = ""
        if span is None or span.file is not None:
            where = "" if span is None else f" ({span.file}, line {span.line})"
            span = FILE_TOP
        severity = _SEVERITIES.get(problem.kind, "warning")
        message = problem.message + where
        found.setdefault((span, message), Diagnostic(span, severity, message, problem.kind))
    return list(found.values())


def of_report(report: KernelReport) -> list[Diagnostic]:
    """A kernel that could not be modelled, exceeded budgets, and caveats as hints.

    A caveat that is a defect of the kernel is a warning.
    """
    found: list[Diagnostic] = []
    if report.status in ("unsupported", "error"):
        severity: Severity = "warning" if report.status == "error" else "information"
        message = f"{report.name}: {report.message or report.status}"
        found.append(Diagnostic(report.span, severity, message, report.status))
    for excess in labels.over_budget(report):
        message = f"{report.name} {excess} on {report.device_name}"
        found.append(Diagnostic(report.span, "warning", message, "over-budget"))
    if report.lowering_error:
        message = f"{report.framework} does not compile this for {report.device_name}: "
        # Arguments that were assumed may be what is wrong.
        blame: Severity = "information" if report.call_source == "assumed" else "warning"
        found.append(Diagnostic(report.span, blame, message + report.lowering_error, "lowering"))
    for caveat in report.caveats:
        if caveat.span is not None and caveat.span.file is None:
            severity = "warning" if caveat.is_defect else "hint"
            found.append(Diagnostic(caveat.span, severity, caveat.message, "caveat"))
    return found
