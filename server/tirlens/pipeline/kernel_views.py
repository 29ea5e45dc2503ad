"""The kernels of a file as the report page displays them: each report with its details."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from tirlens.ide.report_page import Counterpart, KernelView
from tirlens.model.details import kernel_details
from tirlens.model.report import KernelReport
from tirlens.pipeline.file_report import FileReport
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

FindCounterpart = Callable[[KernelReport], Counterpart | None]


def kernel_views(
    file: FileReport,
    result: Result,
    detailed: Collection[int] | None = None,
    counterpart: FindCounterpart = lambda _: None,
) -> list[KernelView]:
    """The views of the kernels of `file`, which was evaluated from `result`.

    Parameters
    ----------
    detailed
        The numbers of the kernels whose details are computed, which takes some ten milliseconds
        each; None for all.
    counterpart
        What a kernel is compared with.
    """
    devices = {device.id: device for device in file.devices}
    facts = _facts_by_key(result)
    views: list[KernelView] = []
    for number, report in enumerate(file.kernels):
        view = KernelView(report, devices[report.device_id], before=counterpart(report))
        of_report = facts.get(_key(report))
        if of_report is not None and (detailed is None or number in detailed):
            details = kernel_details(of_report, view.device, report.bindings)
            view = replace(view, details=details)
        views.append(view)
    return views


def _facts_by_key(result: Result) -> Mapping[object, KernelFacts]:
    return {_key(facts): facts for facts in result.kernels}


def _key(kernel: KernelFacts | KernelReport) -> tuple[object, ...]:
    """What reports and facts of the same kernel have in common."""
    return kernel.definition, kernel.name, kernel.call, kernel.span.line
