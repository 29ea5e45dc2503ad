"""From the worker's facts to reports: choose devices, run the model, ask for advice."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace

from tirlens.budget import NO_BUDGET, Budget
from tirlens.hardware import Device
from tirlens.model.report import KernelReport
from tirlens.pipeline.devices import choose
from tirlens.pipeline.modelled import Modelled
from tirlens.pipeline.options import Options
from tirlens.source.changes import Editor
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


def report(
    source: SourceFile,
    result: Result,
    options: Options,
    path: str = "",
    modelled: Modelled | None = None,
) -> FileReport:
    """The reports of a result, in the order of the text; pure but for looking for a GPU once.

    Those that `modelled` has are taken from there.
    """
    modelled = modelled or Modelled()
    sources, editor = Sources(source), Editor(source.text)
    kernels: list[KernelReport] = []
    problems: list[Problem] = [Problem(p.kind, p.message, p.span) for p in source.problems]
    devices: dict[str, Device] = {}
    for facts in result.kernels:
        kernel = sources.of(facts)
        choice = choose(kernel, facts, options)
        problems += choice.problems
        devices.setdefault(choice.device.id, choice.device)
        try:
            bindings = options.bindings_for(kernel)
            done = modelled.report(path, facts, choice.device, bindings, options.advice)
            budget = _budget(kernel, facts, choice.device, options)
            done = replace(done, device_source=choice.source, budget=budget)
            kernels.append(_with_edits(done, editor))
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


class Sources:
    """The kernels of a text, to be found by the facts that were traced from them."""

    def __init__(self, source: SourceFile) -> None:
        self._named: dict[str, KernelSource] = {}
        self._exact: dict[tuple[str, int], KernelSource] = {}
        for kernel in source.kernels:
            self._named.setdefault(kernel.name, kernel)
            self._exact.setdefault((kernel.name, kernel.span.line), kernel)

    def of(self, facts: KernelFacts) -> KernelSource | None:
        """The kernel of `facts`: that of its name at its line, else the first of its name."""
        name = facts.definition
        return self._exact.get((name, facts.span.line)) or self._named.get(name)


def _with_edits(report: KernelReport, editor: Editor) -> KernelReport:
    """The report with its advice written as edits of the text."""
    if not any(item.change for item in report.advice):
        return report
    advice = (
        replace(item, edit=editor.edit(item.change, report.call)) if item.change else item
        for item in report.advice
    )
    return replace(report, advice=tuple(advice))


def _budget(
    kernel: KernelSource | None, facts: KernelFacts, device: Device, options: Options
) -> Budget:
    """What the kernel may take on `device`: nothing is said of devices other than its own."""
    budget = options.budget_for(kernel, facts.definition)
    if budget and options.force_device:
        own = choose(kernel, facts, replace(options, force_device=False))
        if own.source in ("directive", "project") and own.device.id != device.id:
            return NO_BUDGET
    return budget


def _without_repetition(problems: list[Problem]) -> list[Problem]:
    """One of the problems that the server and the worker both found (a syntax error)."""
    out: dict[tuple[object, ...], Problem] = {}
    for problem in problems:
        line = problem.span.line if problem.span else None
        same = problem.message if problem.kind != "syntax" else None
        out.setdefault((problem.kind, line, problem.kernel, same), problem)
    return list(out.values())
