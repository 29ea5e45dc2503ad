"""The captured launches of a command in their order, as a step of predicted times."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tirlens.captured.file_format import Capture
from tirlens.captured.order import OrderedLaunch
from tirlens.cli.captured_files import chosen_captures
from tirlens.measured.performance.predicted_order import MOST_LAUNCHES, ordered_operations
from tirlens.measured.records import Operation
from tirlens.measured.timeline import Step, step_of
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport

#: What the times of the timeline are.
NOTE = (
    "Predicted times in the order of the captured launches, one after the other on one stream. Idle"
    " is what launches cost that are queued ahead or in a graph: where the host is slower, or an"
    " operation of another library runs between, it is more; with programmatic dependent launch it"
    " is less."
)


def predicted_step(
    reports: Sequence[FileReport], arguments: argparse.Namespace
) -> tuple[Step | None, str]:
    """The step of the captured launches of a command; without one, the reason."""
    captures = [(path, one) for path, one in chosen_captures(arguments) if one.orders]
    if not captures:
        return None, "Predicted kernels have no order: there is no timeline."
    if arguments.id_range is not None:
        return None, "A part of the kernels is selected: there is no timeline."
    launches = sum(len(order) for _, capture in captures for order in capture.orders)
    if launches > MOST_LAUNCHES:
        most = f"a timeline has at most {MOST_LAUNCHES:,} (--signpost NAME for a section)"
        return None, f"The capture has {launches:,} launches, and {most}."
    pairs = list(_operations(captures, reports))
    step = step_of((operation for operation, _ in pairs), (least_s for _, least_s in pairs))
    return (step, "") if step.lanes else (None, "No captured launch has a time.")


def _operations(
    captures: Sequence[tuple[Path, Capture]], reports: Sequence[FileReport]
) -> Iterator[tuple[Operation, float | None]]:
    kernels = _kernels_by_call(reports)
    for path, capture in captures:
        found: dict[tuple[Any, ...], KernelReport | None] = {
            call.identity: _kernel_of(
                kernels.get((_real(path.absolute().parent / call.file), call.call or ""), ()),
                (call.function, call.kernel),
                dict(call.sizes),
            )
            for call in capture.calls
            if call.configurations <= 1
        }

        def kernel_of(launch: OrderedLaunch) -> KernelReport | None:
            return None if launch.call is None else found.get(launch.call)  # noqa: B023

        for number, order in enumerate(capture.orders, 1):
            process = f"process {number}" if len(capture.orders) > 1 else ""
            yield from ordered_operations(order, kernel_of, process, str(path))


def _kernels_by_call(
    reports: Sequence[FileReport],
) -> dict[tuple[str, str], list[KernelReport]]:
    found: dict[tuple[str, str], list[KernelReport]] = {}
    for file in reports:
        for kernel in file.kernels:
            if kernel.launches is not None and not kernel.is_repeated:
                key = (_real(Path(file.path)), kernel.call)
                found.setdefault(key, []).append(kernel)
    return found


def _kernel_of(
    kernels: Sequence[KernelReport], names: tuple[str, str], sizes: dict[str, int]
) -> KernelReport | None:
    """The only kernel with the sizes of a call, or with its names too; None if several have."""
    found = [kernel for kernel in kernels if sizes.items() <= dict(kernel.bindings).items()]
    if len(found) > 1:
        exact = [kernel for kernel in found if dict(kernel.bindings) == sizes]
        found = exact or found
    if len(found) > 1:
        found = [kernel for kernel in found if {kernel.definition, kernel.name} & set(names)]
    return found[0] if len(found) == 1 else None


def _real(path: Path) -> str:
    return os.path.realpath(path)
