"""The text of a file with edits that advice offers, which a request names by their ids."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tirlens import pipeline
from tirlens.model.report import Advice, KernelReport
from tirlens.pipeline import FileReport
from tirlens.pipeline.edit_trials import with_edit
from tirlens.source.edits import Replacement
from tirlens.tools.errors import ToolError
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Analysed, Workbench

_MOST_OUTCOMES = 1000


@dataclass(frozen=True)
class Item:
    """An item of advice with its id, which is ``RULE:LINE``: the same as long as the text is."""

    id: str
    kernel: KernelReport
    advice: Advice


async def analyse_applied(bench: Workbench, subject: Subject) -> Analysed:
    """The analysis of a file with the edits that the request applies; as it is without any."""
    if not subject.apply:
        return await bench.analyse(subject)
    before = await analyse_with_advice(bench, replace(subject, apply=None))
    text = apply_edits(before.text, edits_of(before.report, subject.apply))
    return await bench.analyse(replace(subject, apply=None, text=None), text=text)


async def analyse_with_advice(bench: Workbench, subject: Subject) -> Analysed:
    """The analysis of a file with advice, the edits of which were tried.

    An edit that the framework rejects, or that saves nothing, is dropped.
    """
    analysed = await bench.analyse(subject, advice=True)
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


def edits_of(report: FileReport, names: Sequence[str]) -> list[Replacement]:
    """The edits of these ids.

    Raises
    ------
    ToolError
        The advice has no such edit.
    """
    offered = {
        item.id: item.advice.offered_edit
        for item in items_of(report)
        if item.advice.offered_edit is not None
    }
    found: list[Replacement] = []
    for name in dict.fromkeys(names):
        edit = offered.get(name)
        if edit is None:
            known = ", ".join(offered) or "none"
            raise ToolError(
                "no-edit",
                f"The advice for this file has no edit {name!r:.100}. Edits: {known}. Call advise "
                "for the ids of the present text.",
                {"apply": [next(iter(offered))]} if offered else {},
            )
        found.append(edit)
    return found


def apply_edits(text: str, edits: Sequence[Replacement]) -> str:
    """`text` with `edits`, the last in the text first, so that the others keep their places.

    Raises
    ------
    ToolError
        Two of them change the same place.
    """
    ordered = sorted(edits, key=lambda one: (one.span.line, one.span.column))
    for before, after in itertools.pairwise(ordered):
        end = (before.span.end_line, before.span.end_column)
        if end > (after.span.line, after.span.column):
            raise ToolError(
                "no-edit",
                f"The edits {before.title!r} and {after.title!r} change the same place. Apply one, "
                "and call advise again.",
            )
    for edit in reversed(ordered):
        text = with_edit(text, edit)
    return text
