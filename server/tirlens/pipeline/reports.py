"""From the worker's facts to reports: choose devices, run the model, ask for advice."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace

from tirlens.advice import Question, advise
from tirlens.hardware import Device
from tirlens.model import analyze
from tirlens.model.report import KernelReport
from tirlens.pipeline.devices import Choice, choose
from tirlens.pipeline.options import Options
from tirlens.source.kernel import KernelSource, SourceFile
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import NeedsArguments, Problem, Result


@dataclass(frozen=True)
class FileReport:
    """All that is known of one file's kernels.

    `problems` are those of the text, of the run and of devices; `needs` the kernels for which no
    arguments were found; `devices` the devices that the kernels were, or would be, modelled on.
    """

    kernels: tuple[KernelReport, ...] = ()
    problems: tuple[Problem, ...] = ()
    needs: tuple[NeedsArguments, ...] = ()
    devices: tuple[Device, ...] = ()
    source: SourceFile = field(default_factory=SourceFile)
    path: str = ""
    output: str = ""


def report(source: SourceFile, result: Result, options: Options, path: str = "") -> FileReport:
    """The reports of a result, in the order of the text; pure but for looking for a GPU once."""
    kernels: list[KernelReport] = []
    problems: list[Problem] = [Problem(p.kind, p.message, p.span) for p in source.problems]
    devices: dict[str, Device] = {}
    for facts in result.kernels:
        kernel = source_of(facts, source)
        choice = choose(kernel, facts, options)
        problems += choice.problems
        devices.setdefault(choice.device.id, choice.device)
        try:
            kernels.append(_one(facts, kernel, choice, options))
        except Exception as error:  # A defect of the model must not take the other kernels along.
            message = f"internal error in the model: {type(error).__name__}: {error}"
            detail = traceback.format_exc()
            problems.append(Problem("crash", message, facts.span, facts.definition, detail))
    if not devices:
        # A file with errors is told all the same what it would be shown on.
        kernel = next(iter(source.kernels), None)
        device = choose(kernel, None, options).device
        devices[device.id] = device
    kernels.sort(key=lambda item: (item.span.line, item.span.column))
    return FileReport(
        kernels=tuple(kernels),
        problems=tuple(_without_repetition([*problems, *result.problems])),
        needs=result.needs,
        devices=tuple(devices.values()),
        source=source,
        path=path,
        output=result.output,
    )


def source_of(facts: KernelFacts, source: SourceFile) -> KernelSource | None:
    """The kernel of the text from which facts were traced."""
    named = [item for item in source.kernels if item.name == facts.definition]
    exact = [item for item in named if item.span.line == facts.span.line]
    return next(iter(exact or named), None)


def _one(
    facts: KernelFacts, kernel: KernelSource | None, choice: Choice, options: Options
) -> KernelReport:
    bindings = options.bindings_for(kernel)
    done = analyze(facts, choice.device, bindings)
    if options.advice:
        question = Question(facts, choice.device, bindings, report=done)
        done = replace(done, advice=advise(question))
    return replace(done, device_source=choice.source)


def _without_repetition(problems: list[Problem]) -> list[Problem]:
    """One of the problems that the server and the worker both found (a syntax error)."""
    out: dict[tuple[object, ...], Problem] = {}
    for problem in problems:
        line = problem.span.line if problem.span else None
        same = problem.message if problem.kind != "syntax" else None
        out.setdefault((problem.kind, line, problem.kernel, same), problem)
    return list(out.values())
