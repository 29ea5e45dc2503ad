"""The kernels of a text that the calls of an analysis do not yield."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens.model.report import KernelReport
from tirlens.pipeline.options import Options
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Result


@dataclass(frozen=True)
class Uncalled:
    """A kernel without a result, and the call that was evaluated; empty if there was none."""

    kernel: str
    span: Span
    call: str


def uncalled_kernels(
    source: SourceFile, result: Result, reports: Sequence[KernelReport], options: Options
) -> Iterator[Uncalled]:
    """The kernels of `source` that have neither a report, nor a problem, nor a need."""
    if options.kernels or any(problem.kernel is None for problem in result.problems):
        return
    needed = {need.kernel for need in result.needs}
    known = needed | {problem.kernel for problem in result.problems if problem.kernel is not None}
    known |= {report.definition for report in reports}
    lines = {report.span.line for report in reports}
    for kernel in source.kernels:
        if kernel.local_to in needed:
            continue
        names = {kernel.name, kernel.name.rpartition(".")[2], kernel.prim_func}
        if not kernel.off and kernel.span.line not in lines and not names & known:
            yield Uncalled(kernel.name, kernel.span, _call(kernel, options))


def _call(kernel: KernelSource, options: Options) -> str:
    """The call that was evaluated in place of one of `kernel`, or for it."""
    if options.calls:
        return options.calls[0]
    calls = [item.expression for item in kernel.candidates if "(" in item.expression]
    return calls[0] if calls else ""
