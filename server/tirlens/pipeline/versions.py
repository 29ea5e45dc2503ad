"""The versions of schedules in a file: which are the last, and the time before each change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tirlens.model.report import KernelReport
from tirlens_worker.facts import KernelFacts

#: A function of a schedule: the variable of the schedule, its number, the function.
Schedule = tuple[str, int | None, str]


def last_versions(kernels: Iterable[KernelFacts]) -> dict[Schedule, int]:
    """The number of the last version of each function of each schedule."""
    last: dict[Schedule, int] = {}
    for facts in kernels:
        if facts.built is not None:
            key = schedule_of(facts)
            last[key] = max(last.get(key, 0), facts.built.number)
    return last


def is_last(facts: KernelFacts, last: dict[Schedule, int]) -> bool:
    """Whether no version of `facts` follows, or it is no version."""
    return facts.built is None or facts.built.number == last[schedule_of(facts)]


def with_previous_times(reports: Sequence[KernelReport]) -> list[KernelReport]:
    """The reports, in their order, each with the last known time of the versions before it.

    Times on two devices are not compared.
    """
    times: dict[tuple[Schedule, str], list[tuple[int, float | None]]] = {}
    for report in reports:
        if report.built is not None and report.built.sequence is not None:
            pair = report.built.number, report.time_s
            times.setdefault((schedule_of(report), report.device_id), []).append(pair)
    for pairs in times.values():
        pairs.sort(key=lambda pair: pair[0])
    out: list[KernelReport] = []
    for report in reports:
        if report.built is not None and report.built.sequence is not None:
            number = report.built.number
            before = [
                time_s
                for other, time_s in times[schedule_of(report), report.device_id]
                if other < number and time_s is not None
            ]
            report = replace(report, previous_s=before[-1] if before else None)
        out.append(report)
    return out


def schedule_of(kernel: KernelFacts | KernelReport) -> Schedule:
    """The schedule of which a kernel is a version; its number is None where it is of none."""
    root = kernel.definition.split(".")[0]
    return root, kernel.built.sequence if kernel.built else None, kernel.name
