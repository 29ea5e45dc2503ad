"""The text of a file with edits that advice offers, which a request names by their ids."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from tirlens import pipeline
from tirlens.model.report import Advice, KernelReport
from tirlens.pipeline import FileReport
from tirlens.pipeline.edit_trials import with_edit
from tirlens.source.edits import Replacement
from tirlens.tools.errors import ToolError
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Analysed, Workbench

S = TypeVar("S", bound=Subject)
_MOST_OUTCOMES = 1000


@dataclass(frozen=True)
class Item:
    """An item of advice with its id, which is ``RULE:LINE``: the same as long as the text is."""

    id: str
    kernel: KernelReport
    advice: Advice


async def analyse_applied(bench: Workbench, subject: Subject) -> Analysed:
    """The analysis of a file with the edits that the request applies; as it is without any."""
    text = await text_with_edits(bench, subject)
    return await bench.analyse(without_edits(subject), text=text)


async def text_with_edits(bench: Workbench, subject: Subject) -> str | None:
    """The text of a file with the edits of a request; None where it applies none.

    Each is an edit of the advice on the text with those before it.

    Raises
    ------
    ToolError
        The advice has no such edit.
    """
    text: str | None = None
    for name in subject.apply or ():
        analysed = await analyse_with_advice(bench, without_edits(subject), text)
        text = with_edit(analysed.text, _edit_of(analysed.report, name))
    return text


def without_edits(subject: S) -> S:
    """The request about the text without edits."""
    return replace(subject, apply=None)


async def analyse_with_advice(
    bench: Workbench, subject: Subject, text: str | None = None
) -> Analysed:
    """The analysis of a file, or of a `text` of it, with advice whose edits were tried.

    An edit that the framework rejects, or that saves nothing, is dropped.
    """
    analysed = await bench.analyse(subject, advice=True, text=text)
    report = analysed.report
    for trial in await asyncio.to_thread(pipeline.trials, report, bench.outcomes):
        bench.outcomes[trial.key] = await _outcome(bench, analysed, trial)
        while len(bench.outcomes) > _MOST_OUTCOMES:
            del bench.outcomes[next(iter(bench.outcomes))]
    return replace(analysed, report=pipeline.with_outcomes(report, bench.outcomes))


async def _outcome(bench: Workbench, analysed: Analysed, trial: pipeline.Trial) -> pipeline.Outcome:
    path, options = str(analysed.place.path), analysed.options
    request = trial.request(path, options)
    result = await bench.ask(analysed.interpreter, request)
    lowering = trial.lowering(request, result, options)
    if lowering is not None:
        answer = await bench.ask(analysed.interpreter, lowering)
        answer = pipeline.complete_lowering(lowering, answer)
        result = pipeline.merge_lowerings(result, answer)
    return await asyncio.to_thread(trial.outcome, result, options, path)


def items_of(report: FileReport) -> Iterator[Item]:
    """The advice of a file with ids, the largest saving first."""
    pairs = [(kernel, advice) for kernel in report.kernels for advice in kernel.advice]
    pairs.sort(key=lambda pair: -(pair[1].saving_s or 0.0))
    seen: Counter[str] = Counter()
    for kernel, advice in pairs:
        name = f"{advice.rule}:{advice.span.line}"
        seen[name] += 1
        number = f"#{seen[name]}" if seen[name] > 1 else ""
        yield Item(f"{name}{number}", kernel, advice)


def _edit_of(report: FileReport, name: str) -> Replacement:
    offered = {
        item.id: item.advice.offered_edit
        for item in items_of(report)
        if item.advice.offered_edit is not None
    }
    found = offered.get(name)
    if found is None:
        known = ", ".join(offered) or "none"
        raise ToolError(
            "no-edit",
            f"The advice on this text has no edit {name!r:.100}. Edits: {known}. Call advise for "
            "the ids; each of several is of the text with those before it.",
            {"apply": [next(iter(offered))]} if offered else {},
        )
    return found
