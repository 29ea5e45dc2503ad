"""The cost of all captured launches, by kernel and call: time x launches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tirlens.model.report import KernelReport
from tirlens.pipeline.file_report import FileReport


@dataclass(frozen=True)
class CallCost:
    """A captured call.

    Attributes
    ----------
    total_s
        The time of all its launches; None if the time of one is not known.
    """

    report: KernelReport
    path: str
    launches: int
    total_s: float | None


@dataclass(frozen=True)
class KernelCost:
    """A kernel with its calls, the most expensive first.

    Attributes
    ----------
    total_s
        The time of all launches with a known time.
    share
        Of the step's time.
    """

    calls: tuple[CallCost, ...]
    launches: int
    total_s: float
    share: float


@dataclass(frozen=True)
class StepCost:
    """The captured step: its kernels, the most expensive first.

    Attributes
    ----------
    total_s
        The sum of the kernels' times, one after the other.
    unknown_launches
        The launches without a time, which the sum does not have.
    others
        How often operations of other libraries ran on the GPU, by name. The sum does not have their
        time, which is not known.
    """

    kernels: tuple[KernelCost, ...]
    launches: int
    total_s: float
    unknown_launches: int
    others: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def is_complete(self) -> bool:
        """Whether the sum has all that ran on the GPU."""
        return not self.others and not self.unknown_launches


def step_cost(reports: Iterable[FileReport], others: Mapping[str, int] | None = None) -> StepCost:
    """Weigh the captured calls of some reports by their launches, beside `others`."""
    groups: dict[tuple[str, str, str], list[CallCost]] = {}
    for file in reports:
        for report in file.kernels:
            if report.launches is None:
                continue
            total_s = None if report.time_s is None else report.time_s * report.launches
            key = (file.path, report.definition, report.name)
            call = CallCost(report, file.path, report.launches, total_s)
            groups.setdefault(key, []).append(call)
    total_s = sum(call.total_s or 0.0 for calls in groups.values() for call in calls)
    kernels = [_kernel_cost(calls, total_s) for calls in groups.values()]
    kernels.sort(key=lambda kernel: -kernel.total_s)
    return StepCost(
        tuple(kernels),
        sum(kernel.launches for kernel in kernels),
        total_s,
        sum(call.launches for kernel in kernels for call in kernel.calls if call.total_s is None),
        dict(others or {}),
    )


def _kernel_cost(calls: list[CallCost], step_s: float) -> KernelCost:
    ordered = sorted(calls, key=lambda call: -(call.total_s or 0.0))
    total_s = sum(call.total_s or 0.0 for call in calls)
    launches = sum(call.launches for call in calls)
    return KernelCost(tuple(ordered), launches, total_s, total_s / step_s if step_s else 0.0)


def step_json(step: StepCost) -> dict[str, Any]:
    """The step as in the contract's JSON."""
    return {
        "launches": step.launches,
        "time_s": step.total_s,
        "unknown_launches": step.unknown_launches,
        "others": dict(step.others),
        "kernels": [
            {
                "name": kernel.calls[0].report.name,
                "definition": kernel.calls[0].report.definition,
                "file": kernel.calls[0].path,
                "launches": kernel.launches,
                "time_s": kernel.total_s,
                "share": kernel.share,
                "calls": [
                    {
                        "call": call.report.call,
                        "bindings": dict(call.report.bindings),
                        "assumed": dict(call.report.assumed),
                        "launches": call.launches,
                        "time_s": call.report.time_s,
                        "total_s": call.total_s,
                    }
                    for call in kernel.calls
                ],
            }
            for kernel in step.kernels
        ],
    }
