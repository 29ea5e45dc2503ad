"""The evaluation of a worker's result: the model's reports and what the editor shows of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tirlens.collector import exempt_present_objects
from tirlens.ide.history import key
from tirlens.session.analysis import NO_SAVES, Analysis
from tirlens.settings import DEFAULT_LENS_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.ide.hints import Hint
    from tirlens.model.report import KernelReport
    from tirlens.pipeline import FileReport
    from tirlens.session.display import Display
    from tirlens.session.job import Job
    from tirlens.source.source_file import SourceFile
    from tirlens_worker.protocol import Result


@dataclass(frozen=True)
class Evaluation:
    """An analysis, its hints, and the plan of its next tier; None after the last one.

    `display` is what the hints are for.
    """

    analysis: Analysis
    hints: list[Hint]
    display: Display
    next_tier: pipeline.Plan | None


def evaluate(
    job: Job,
    result: Result,
    parts: Mapping[bytes, pipeline.Part],
    reports: pipeline.ReportCache,
    awaited: Callable[[Path, SourceFile], frozenset[str]] = lambda path, source: frozenset(),
    outcomes: Mapping[pipeline.TrialKey, pipeline.Outcome] | None = None,
    measured: pipeline.MeasuredFiles | None = None,
) -> Evaluation:
    """Evaluate `result` by the model. Takes milliseconds for each kernel.

    Parameters
    ----------
    job
        The job that `result` is the result of.
    result
        What the worker found.
    parts
        The cached parts of the file: the tiers among them are part of the report.
    reports
        The cached reports.
    awaited
        The kernels of a file whose calls in other files are still searched.
    outcomes
        Those of the edits that were tried.
    measured
        The files of measured times.
    """
    from tirlens import pipeline

    tiers = pipeline.merge_tiers(job.plan, result, job.options, job.compiler, parts)
    result = tiers.result
    report = pipeline.file_report(job.plan.source, result, job.options, job.path, reports)
    report = pipeline.with_outcomes(report, outcomes or {})
    earlier = _earlier_tiers(job, report, tiers.before, reports)
    document = job.document
    previous = document.analysis
    digests: pipeline.Digests = {} if previous is None else previous.digests
    if measured is not None:
        times = measured.times_of(document.path)
        committed = partial(measured.committed_of, document.path)
        report, digests = pipeline.with_measured(report, times, digests, committed)
    last_save, saves = (None, NO_SAVES) if previous is None else previous.past_of(job.reading)
    analysis = Analysis(
        job.reading,
        result,
        report,
        document.saved_at_s,
        document.saved_version,
        last_save,
        saves,
        document.baseline,
        job.options,
        lens_parts=_lens_parts(job),
        earlier_tiers=earlier,
        digests=digests,
        awaited_calls=awaited(document.path, job.plan.source) if report.needs else frozenset(),
    ).or_before(previous)
    display = job.display
    hints = analysis.hints(display)
    # Computed here in the thread, and not when the client asks for them.
    assert analysis.lenses(display) is not None
    assert analysis.files is not None
    # An analysis contains no reference cycles: it is freed by reference counting.
    exempt_present_objects()
    return Evaluation(analysis, hints, display, tiers.next)


def _earlier_tiers(
    job: Job, report: FileReport, before: Sequence[Result], reports: pipeline.ReportCache
) -> tuple[KernelReport, ...]:
    """The reports of the kernels in the results without the last tiers, where they differ."""
    from tirlens import pipeline

    known = set(map(key, report.kernels))
    found: list[KernelReport] = []
    options = replace(job.options, advice=False)
    for result in before:
        whole = pipeline.file_report(job.plan.source, result, options, job.path, reports)
        found += (item for item in whole.kernels if key(item) not in known)
        known |= set(map(key, whole.kernels))
    return tuple(found)


def _lens_parts(job: Job) -> tuple[str, ...]:
    """The parts of a lens: the project's setting, else the editor's."""
    chosen = job.options.project.lens_parts or job.configuration.settings.lens_parts
    return chosen or DEFAULT_LENS_PARTS
