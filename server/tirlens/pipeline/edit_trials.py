"""Trials of the edits that advice proposes: on a copy of the text, before they are offered.

A rule evaluates changed facts, which are those of a changed source. Whether the framework accepts
that source, and what it makes of it, only the framework says: the edit is applied to the text, the
kernel is traced and lowered again with the same call, and evaluated. An edit that the framework
rejects, or that saves nothing, is no advice. The saving of an edit is the difference of both
evaluations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tirlens.advice.rule import NOTICEABLE
from tirlens.model.report import Advice, KernelReport
from tirlens.pipeline.analysis_request import analysis_request
from tirlens.pipeline.file_report import FileReport, file_report
from tirlens.pipeline.lowering_request import lowering_request
from tirlens.pipeline.options import Options
from tirlens.pipeline.plan import TRANSIENT_PROBLEMS
from tirlens.source import read
from tirlens.source.edits import Replacement
from tirlens.source.source_file import SourceFile
from tirlens_worker.protocol import Analyze, CallCandidate, Result

MAX_TRIALS = 8
"""The edits of a file that are tried, those with the largest savings; each takes a trace and a
lowering of one kernel."""

TrialKey = tuple[object, ...]


@dataclass(frozen=True)
class Trial:
    """An edit to be tried: the kernel, its advice, and the text with the edit."""

    kernel: KernelReport
    advice: Advice
    source: SourceFile
    key: TrialKey

    def request(self, path: str, options: Options) -> Analyze:
        """The request to trace the kernel of the changed text with the call of the present one."""
        kernel = self.kernel
        call = CallCandidate(
            kernel.call, kernel.call_source, required=True, bindings=dict(kernel.bindings)
        )
        kernels = (
            replace(item, candidates=() if kernel.built else (call,))
            for item in self.source.kernels
            if item.name == kernel.definition
        )
        source = replace(self.source, kernels=tuple(kernels))
        return analysis_request(1, path, self.source.text, source, without_selection(options))

    def lowering(self, request: Analyze, result: Result, options: Options) -> Analyze | None:
        """The request to lower what `result`, the answer to `request`, has; None if nothing is."""
        return lowering_request(request, result, self.source, without_selection(options))

    def outcome(self, result: Result, options: Options, path: str) -> Outcome:
        """What the edit does, by the traced and lowered result."""
        if any(problem.kind in TRANSIENT_PROBLEMS for problem in result.problems):
            return Outcome(None, is_known=False)
        if any(facts.refused for facts in result.kernels):
            return Outcome(None)
        options = replace(without_selection(options), advice=False)
        reports = file_report(self.source, result, options, path).kernels
        before = self.kernel
        after = next((item for item in reports if _is_same(item, before)), None)
        # Its edit is traced and lowered, but not compiled.
        before_s = before.time_s if before.compiled is None else before.uncompiled_time_s
        if after is None or after.time_s is None or before_s is None:
            return Outcome(None)
        if (after.lowered is None) != (before.lowered is None):
            # One side is not lowered: their times have no common basis.
            return Outcome(None, is_known=False)
        return Outcome(before_s - after.time_s)


@dataclass(frozen=True)
class Outcome:
    """The result of a trial.

    Attributes
    ----------
    saving_s
        What the edit saves; None if the framework rejects it or its time is not known.
    is_known
        Whether the trial was completed. An edit whose trial was not is not offered.
    """

    saving_s: float | None
    is_known: bool = True


def trials(report: FileReport, known: Mapping[TrialKey, Outcome]) -> list[Trial]:
    """The edits of the advice in `report` to be tried, those that save most first."""
    found = [
        (advice.saving_s or 0.0, kernel, advice)
        for kernel in report.kernels
        for advice in kernel.advice
        if advice.edit is not None and not advice.is_tried and _can_be_tried(kernel)
    ]
    found.sort(key=lambda item: -item[0])
    distinct: dict[TrialKey, tuple[KernelReport, Advice]] = {}
    for _, kernel, advice in found:
        distinct.setdefault(trial_key(report, kernel, advice), (kernel, advice))
    return [
        Trial(kernel, advice, read(with_edit(report.source.text, advice.edit)), key)
        for key, (kernel, advice) in list(distinct.items())[:MAX_TRIALS]
        if key not in known and advice.edit is not None
    ]


def with_outcomes(report: FileReport, known: Mapping[TrialKey, Outcome]) -> FileReport:
    """`report` with the outcomes of trials: advice that is rejected or saves nothing is dropped."""
    if not any(advice.edit for kernel in report.kernels for advice in kernel.advice):
        return report
    kernels = (
        replace(
            kernel,
            advice=tuple(
                _by_saving(
                    tried
                    for advice in kernel.advice
                    if (tried := _with_outcome(kernel, advice, known, report)) is not None
                )
            ),
        )
        for kernel in report.kernels
    )
    return replace(report, kernels=tuple(kernels))


def with_edit(text: str, edit: Replacement | None) -> str:
    """`text` with an edit."""
    if edit is None:
        return text
    lines, span = text.split("\n"), edit.span
    before = [*lines[: span.line - 1], lines[span.line - 1][: span.column]]
    after = [lines[span.end_line - 1][span.end_column :], *lines[span.end_line :]]
    return "\n".join(before) + edit.new_text + "\n".join(after)


def without_selection(options: Options) -> Options:
    """`options` without those that choose among kernels and calls."""
    return replace(options, calls=(), kernels=(), by_launches=False)


def trial_key(report: FileReport, kernel: KernelReport, advice: Advice) -> TrialKey:
    """What the outcome of a trial depends on, apart from the places in the text."""
    source = next((k for k in report.source.kernels if k.name == kernel.definition), None)
    lines = report.source.text.split("\n")
    own = lines[source.extent.line - 1 : source.extent.end_line] if source else ()
    return (
        report.path,
        kernel.definition,
        kernel.name,
        kernel.call,
        tuple(sorted(kernel.bindings.items())),
        kernel.device_id,
        kernel.time_s,
        kernel.lowered,
        advice.rule,
        advice.edit and advice.edit.new_text,
        tuple(own),
    )


def _can_be_tried(kernel: KernelReport) -> bool:
    """Whether the framework says of a changed text of the kernel all that it would say.

    tilelang rejects some programs only when it lowers them.
    """
    lowers = kernel.framework == "tilelang" and kernel.schedule == "gpu"
    return not lowers or kernel.lowered is not None


def _is_same(after: KernelReport, before: KernelReport) -> bool:
    return (after.definition, after.name, after.call, dict(after.bindings)) == (
        before.definition,
        before.name,
        before.call,
        dict(before.bindings),
    )


def _with_outcome(
    kernel: KernelReport, advice: Advice, known: Mapping[TrialKey, Outcome], report: FileReport
) -> Advice | None:
    if advice.edit is None or advice.is_tried:
        return advice
    outcome = known.get(trial_key(report, kernel, advice))
    if outcome is None or not outcome.is_known:
        return advice
    saving_s, time_s = outcome.saving_s, kernel.time_s
    if saving_s is None or time_s is None or saving_s < NOTICEABLE * time_s:
        return None
    return replace(advice, saving_s=saving_s, is_tried=True)


def _by_saving(advice: Iterable[Advice]) -> list[Advice]:
    """Advice of each severity by its saving, as it may be another one after a trial."""
    order = ("error", "warning", "info", "hint")
    return sorted(advice, key=lambda one: (order.index(one.severity), -(one.saving_s or 0.0)))
