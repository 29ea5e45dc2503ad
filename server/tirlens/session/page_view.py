"""The report page of an open document: its analysis, and what the user compares it with."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.history import Comparison
from tirlens.ide.line_changes import inclusive_times, line_times
from tirlens.ide.line_map import LineMap

if TYPE_CHECKING:
    from tirlens.ide.report_page import Choices, Counterpart, Page
    from tirlens.model.report import KernelReport
    from tirlens.pipeline import FileReport
    from tirlens.session.analysis import Analysis
    from tirlens.session.document import Document

#: Comparisons that are no devices.
LAST_SAVE, BASELINE = "last-save", "baseline"
# Files with more kernels have the details of the requested one alone.
_MAX_DETAILED_KERNELS = 6


@dataclass(frozen=True)
class PageRequest:
    """What a page is to display.

    Attributes
    ----------
    kernel
        The number of the kernel whose details are asked for; None for the first.
    comparison
        `LAST_SAVE`, `BASELINE`, the id of a device, or empty.
    """

    kernel: int | None = None
    comparison: str = ""


class PageView:
    """The page of a document as it is now; `page` may run in a thread.

    Parameters
    ----------
    document
        A document that has an analysis.
    """

    def __init__(self, document: Document, analysis: Analysis) -> None:
        self._analysis = analysis
        self._name, self._path = document.path.name, str(document.path)
        self._device = document.device or ""
        self._cells = document.cells
        self._is_stale = document.text != analysis.reading.text

    def page(self, request: PageRequest, with_text: bool = False) -> Page:
        """The page; `with_text` for one that is displayed without an editor."""
        from tirlens.ide.report_page import FileView, Page
        from tirlens.pipeline.kernel_views import kernel_views

        analysis = self._analysis
        counterparts = self._counterparts(request.comparison)
        file = FileView(
            path=self._path,
            name=self._name,
            kernels=kernel_views(
                analysis.report,
                analysis.result,
                self._kernels_in_detail(request, with_text),
                lambda report: counterparts.get(id(report)),
            ),
            origin=self._origin(),
            is_stale=self._is_stale,
            problems=[
                (problem.span.line if problem.span else 1, problem.message)
                for problem in analysis.report.problems
            ],
            text=analysis.reading.text if with_text else None,
            cells=self._cells,
        )
        return Page(self._name, [file], self._choices(request))

    def _kernels_in_detail(self, request: PageRequest, all_kernels: bool) -> Collection[int] | None:
        if all_kernels or len(self._analysis.report.kernels) <= _MAX_DETAILED_KERNELS:
            return None
        return {request.kernel or 0}

    def _origin(self) -> str:
        analysis = self._analysis
        saved = time.strftime("%H:%M:%S", time.localtime(analysis.saved_at_s))
        frameworks = {f"{k.framework} {k.framework_version}" for k in analysis.report.kernels}
        lines = labels.count(len(analysis.reading.lines), "line")
        version = f"version {analysis.version}"
        return ", ".join([f"saved {saved}", version, lines, *sorted(frameworks)])

    def _choices(self, request: PageRequest) -> Choices:
        from tirlens import hardware
        from tirlens.ide.report_page import Choices

        names = [(item, f"{item}: {hardware.load(item).name}") for item in hardware.catalogue()]
        used = ", ".join(device.id for device in self._analysis.report.devices)
        own = "as in the editor" if self._device else f"as in the editor: {used}"
        return Choices(
            devices=[("", own), *names],
            device=self._device,
            comparisons=[("", "nothing"), *self._versions(), *names],
            comparison=request.comparison,
        )

    def _versions(self) -> list[tuple[str, str]]:
        analysis = self._analysis
        found: list[tuple[str, str]] = []
        if analysis.last_save is not None:
            found.append((LAST_SAVE, "the last save"))
        if analysis.baseline is not None:
            found.append((BASELINE, f"the baseline: {analysis.baseline.name}"))
        return found

    def _counterparts(self, comparison: str) -> Mapping[int, Counterpart]:
        """What each kernel is compared with, by the identity of its report."""
        analysis = self._analysis
        if not comparison:
            return {}
        if comparison in (LAST_SAVE, BASELINE):
            found: dict[int, Counterpart] = {}
            for report in analysis.report.kernels:
                history = analysis.history_of(report)
                before = history.last_save if comparison == LAST_SAVE else history.baseline
                # Times of lines are not compared with those of another tier.
                if before is not None and before.earlier_tier is None:
                    found[id(report)] = self._of_version(before)
            return found
        return _on_device(analysis, comparison)

    def _of_version(self, before: Comparison) -> Counterpart:
        from tirlens.ide.report_page import Counterpart

        lines = LineMap.between(before.lines, self._analysis.reading.lines)
        return Counterpart(before.name, before.before, line_times(before.before, lines))


def _on_device(analysis: Analysis, device: str) -> Mapping[int, Counterpart]:
    """The kernels of an analysis on another device: only the model runs."""
    from tirlens.ide.report_page import Counterpart

    reports = analysis.report.kernels
    others = _evaluate(analysis, device)
    if others is None or len(others.kernels) != len(reports):
        return {}
    return {
        id(report): Counterpart(device, other, inclusive_times(other))
        for report, other in zip(reports, others.kernels, strict=True)
        if _is_same(report, other)
    }


def _evaluate(analysis: Analysis, device: str) -> FileReport | None:
    from tirlens import hardware, pipeline

    if analysis.options is None or device not in hardware.catalogue():
        return None
    options = replace(analysis.options, device=device, force_device=True, advice=False)
    return pipeline.file_report(analysis.reading.source, analysis.result, options)


def _is_same(report: KernelReport, other: KernelReport) -> bool:
    return (report.definition, report.name) == (other.definition, other.name)
