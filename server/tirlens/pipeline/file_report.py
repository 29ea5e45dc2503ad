"""The report of a file: the worker's facts, evaluated on the device of each kernel."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tirlens.budget import NO_BUDGET, Budget
from tirlens.evaluation.search_result import KnownValue
from tirlens.hardware import Device
from tirlens.ide.notebook_file import NotebookFile
from tirlens.model.report import CaveatNote, KernelReport
from tirlens.pipeline.analysis_request import selected_kernels
from tirlens.pipeline.call_sizes import sizes_of
from tirlens.pipeline.device_choice import DeviceChoice, choose_device, choose_devices
from tirlens.pipeline.options import Options
from tirlens.pipeline.report_cache import ReportCache
from tirlens.pipeline.span_shift import map_spans
from tirlens.pipeline.uncalled import Uncalled, uncalled_kernels
from tirlens.pipeline.versions import is_last, last_versions, with_previous_times
from tirlens.source.edits import Editor
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.facts import KernelFacts, Span
from tirlens_worker.protocol import CallCandidate, NeedsArguments, Problem, Result


@dataclass(frozen=True)
class FileReport:
    """The reports of one file's kernels.

    Attributes
    ----------
    kernels
        In the order of the text.
    problems
        Of the text, of the worker's run and of the choice of devices.
    needs
        The kernels for which no arguments were found.
    devices
        The devices that the kernels are modelled on, or would be.
    output
        What the file printed.
    unselected
        The kernels of the file that the options leave out.
    uncalled
        The kernels that the calls of the analysis do not yield.
    """

    kernels: tuple[KernelReport, ...] = ()
    problems: tuple[Problem, ...] = ()
    needs: tuple[NeedsArguments, ...] = ()
    devices: tuple[Device, ...] = ()
    source: SourceFile = field(default_factory=SourceFile)
    path: str = ""
    output: str = ""
    unselected: tuple[KernelSource, ...] = ()
    uncalled: tuple[Uncalled, ...] = ()

    def in_cells(self, notebook: NotebookFile) -> FileReport:
        """The report with places in the cells of the notebook whose text it is of."""
        named = {
            name: map_spans(getattr(self, name), notebook.in_cell)
            for name in ("kernels", "problems", "needs", "unselected", "uncalled")
        }
        return replace(self, **named)


def file_report(
    source: SourceFile,
    result: Result,
    options: Options,
    path: str = "",
    cache: ReportCache | None = None,
) -> FileReport:
    """Evaluate the kernels of a result.

    Parameters
    ----------
    source
        The text as it was read.
    result
        What the worker found for it.
    options
        The options of the analysis.
    path
        The file's path.
    cache
        Reports of earlier evaluations.
    """
    cache = cache or ReportCache()
    index, editor = KernelIndex(source), Editor(source)
    kernels: list[KernelReport] = []
    problems: list[Problem] = [Problem(p.kind, p.message, p.span) for p in source.problems]
    devices: dict[str, Device] = {}
    last = last_versions(result.kernels)
    choices = choose_devices(result.kernels, index.find, options)
    for facts, choice in zip(result.kernels, choices, strict=True):
        kernel = index.find(facts)
        is_repeated = not is_last(facts, last) or bool(facts.built and facts.built.same_as)
        problems += choice.problems
        devices.setdefault(choice.device.id, choice.device)
        try:
            advice = options.advice and not is_repeated
            budget = _budget(kernel, facts, choice.device, options)
            for candidate in _candidates(kernel, facts, options):
                bindings = {**candidate.bindings, **options.bindings_for(kernel)}
                report = cache.report(path, facts, choice.device, bindings, advice)
                known = _known_arguments(kernel, report)
                given = {one.name for one in known}
                report = replace(
                    report,
                    device_source=choice.source,
                    math_fidelity_source=choice.fidelity_source if report.math_fidelity else "",
                    budget=budget,
                    call_site=_call_site(candidate),
                    known=known,
                    launches=candidate.launches,
                    sizes=sizes_of(kernel, report),
                    assumed={
                        **{n: text for n, text in report.assumed.items() if n not in given},
                        **_unknown_sizes(candidate),
                    },
                    caveats=(
                        *report.caveats,
                        *_data_caveats(candidate, facts.span),
                        *_fidelity_caveats(report, choice),
                    ),
                    is_last_version=is_last(facts, last),
                )
                kernels.append(_with_edits(report, editor))
        except Exception as error:  # A defect of the model must not hide the other kernels.
            message = f"internal error in the model: {type(error).__name__}: {error}"
            detail = traceback.format_exc()
            problems.append(Problem("crash", message, facts.span, facts.definition, detail))
    if not devices:
        # The device is shown for a file without reports as well.
        kernel = next(iter(source.kernels), None)
        device = choose_device(kernel, None, options).device
        devices[device.id] = device
    kernels.sort(key=lambda item: (item.span.line, item.span.column))
    return FileReport(
        kernels=tuple(with_previous_times(kernels)),
        problems=tuple(_without_duplicates([*problems, *result.problems])),
        needs=_first_of_each_function(result.needs),
        devices=tuple(devices.values()),
        source=source,
        path=path,
        output=result.output,
        unselected=_kernels_left_out(source, options),
        uncalled=tuple(uncalled_kernels(source, result, kernels, options)),
    )


def _kernels_left_out(source: SourceFile, options: Options) -> tuple[KernelSource, ...]:
    """The kernels that ``--call`` or ``--kernel`` leaves out; not those that are turned off."""
    selected = selected_kernels(source, options)
    return tuple(kernel for kernel in source.kernels if not kernel.off and kernel not in selected)


class KernelIndex:
    """Finds the kernel of a text from which facts were traced."""

    def __init__(self, source: SourceFile) -> None:
        self._named: dict[str, KernelSource] = {}
        self._exact: dict[tuple[str, int], KernelSource] = {}
        for kernel in source.kernels:
            self._named.setdefault(kernel.name, kernel)
            self._exact.setdefault((kernel.name, kernel.span.line), kernel)

    def find(self, facts: KernelFacts) -> KernelSource | None:
        """The kernel with the name and the line of `facts`; else the first with the name."""
        name = facts.definition
        return self._exact.get((name, facts.span.line)) or self._named.get(name)


def _candidates(
    kernel: KernelSource | None, facts: KernelFacts, options: Options
) -> list[CallCandidate]:
    """The candidate of a kernel whose call yielded `facts`.

    Captured calls with the same expression differ in their sizes. They are all of interest where
    kernels are weighed by launches.
    """
    candidates = kernel.candidates if kernel is not None else ()
    found = [candidate for candidate in candidates if candidate.expression == facts.call]
    # What a call returns may have been called again, with assumed arguments.
    found = found or [
        candidate
        for candidate in candidates
        if candidate.source == "repository" and facts.call.startswith(f"{candidate.expression}(")
    ]
    if options.by_launches:
        found = [candidate for candidate in found if candidate.source == "captured"]
    elif found and not options.all_calls:
        found = found[:1]
    elif found:
        found = list({tuple(sorted(one.bindings.items())): one for one in reversed(found)}.values())
    return found or [CallCandidate(facts.call, facts.call_source)]


def _known_arguments(kernel: KernelSource | None, report: KernelReport) -> tuple[KnownValue, ...]:
    """The arguments of an assumed call that are as a call in the text gives them."""
    given = () if kernel is None else kernel.known
    return tuple(one for one in given if report.assumed.get(one.name) == one.text)


def _unknown_sizes(candidate: CallCandidate) -> Mapping[str, str]:
    """The sizes of a captured call that depend on data."""
    return candidate.assumed if candidate.source == "captured" else {}


def _data_caveats(candidate: CallCandidate, span: Span) -> Iterator[CaveatNote]:
    for name, value in _unknown_sizes(candidate).items():
        known = f": {value} is assumed" if value != "?" else ""
        yield CaveatNote(
            f"{name} depends on data, which a capture without a GPU does not have{known}; "
            "a comment # tirlens: or --bind sets it",
            span,
        )


def _fidelity_caveats(report: KernelReport, choice: DeviceChoice) -> Iterator[CaveatNote]:
    if report.math_fidelity and choice.fidelity_source == "default":
        yield CaveatNote(
            f"{report.math_fidelity} is assumed, the math fidelity that ttnn.matmul chooses for "
            "these types without a configuration; a comment '# tirlens: math-fidelity=HiFi4' or "
            "--math-fidelity sets another",
            report.span,
        )


def _call_site(candidate: CallCandidate) -> Span | None:
    """The place of a call in another file."""
    return candidate.span if candidate.span is not None and candidate.span.file else None


def _with_edits(report: KernelReport, editor: Editor) -> KernelReport:
    """`report` with the changes that its advice proposes as edits of the text."""
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
    """The budget of a kernel on `device`; none on a device other than the kernel's own."""
    budget = options.budget_for(kernel, facts.definition)
    if budget and options.force_device:
        own = choose_device(kernel, facts, replace(options, force_device=False))
        if own.source in ("directive", "project") and own.device.id != device.id:
            return NO_BUDGET
    return budget


def _first_of_each_function(needs: Sequence[NeedsArguments]) -> tuple[NeedsArguments, ...]:
    """The first need of each function: all its statements that build kernels have the same."""
    first: dict[str, NeedsArguments] = {}
    for need in sorted(needs, key=lambda item: item.span.line):
        first.setdefault(need.kernel, need)
    return tuple(need for need in needs if first[need.kernel] is need)


def _without_duplicates(problems: list[Problem]) -> list[Problem]:
    """The problems without those that both server and worker found, such as a syntax error."""
    out: dict[tuple[object, ...], Problem] = {}
    for problem in problems:
        line = problem.span.line if problem.span else None
        same = problem.message if problem.kind != "syntax" else None
        out.setdefault((problem.kind, line, problem.kernel, same), problem)
    return list(out.values())
