"""Evaluation of kernels by the model, with a cache of the last report of each kernel."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.advice import Question, advise
from tirlens.advice.rules.launch_bound import LAUNCHES
from tirlens.hardware import Device
from tirlens.headroom import reachable
from tirlens.model import Workload, analyze, workload_of
from tirlens.model.report import KernelReport
from tirlens.pipeline.span_shift import LineShift, shift_spans
from tirlens_worker.facts import KernelFacts

# Two files of 500 kernels.
_MAX_KERNELS = 1000
# Those of a text, of it without what lowering and compiling have found, and of a baseline.
_MAX_VERSIONS = 4
# Up to this multiple of the roofline's time nothing is said of better structures, which are
# predicted no better than that.
_ROOM = 1.15
# A line after the end of every text.
_LAST_LINE = 1 << 30


def evaluate_kernel(
    facts: KernelFacts, device: Device, bindings: Mapping[str, int], advice: bool
) -> KernelReport:
    """Evaluate a kernel by the model, and by the advice rules if `advice` is true."""
    counts = workload_of(facts, bindings) if advice else None
    report = _figures(facts, device, bindings, counts)
    return _with_advice(report, facts, device, bindings, counts) if advice else report


def _figures(
    facts: KernelFacts, device: Device, bindings: Mapping[str, int], counts: Workload | None
) -> KernelReport:
    return analyze(counts.facts if counts is not None else facts, device, bindings, counts)


def _with_advice(
    report: KernelReport,
    facts: KernelFacts,
    device: Device,
    bindings: Mapping[str, int],
    counts: Workload | None,
) -> KernelReport:
    """`report`, which is that of a kernel, with the advice on the kernel and its headroom."""
    if counts is not None:
        # A what-if changes the facts that were counted, and shares the unchanged ones with them.
        facts = counts.facts
    question = Question(facts, device, bindings, report=report, workload=counts)
    report = _with_headroom(replace(report, advice=advise(question)), counts, device)
    if (facts.compiled or facts.assembly) and report.advice:
        estimated = replace(facts, compiled=(), assembly=())
        uncompiled = analyze(estimated, device, bindings, counts, by_line=False)
        report = replace(report, uncompiled_time_s=uncompiled.time_s)
    return report


def _with_headroom(report: KernelReport, counts: Workload | None, device: Device) -> KernelReport:
    """`report` with what the best known structure reaches, where there is room for one."""
    if counts is None or not _has_room(report, device):
        return report
    found = reachable(counts, device)
    if found is None or report.time_s is None:
        return report
    if found.time_s >= report.time_s:
        return replace(report, reachable_time_s=report.time_s)
    return replace(report, reachable_time_s=found.time_s, reachable_by=found.structure)


def _has_room(report: KernelReport, device: Device) -> bool:
    """Whether a kernel takes much longer than its roofline and than a launch."""
    if report.time_s is None or report.schedule != "gpu":
        return False
    least_s = max(report.roofline_time_s or 0.0, LAUNCHES * device.launch_s)
    return report.time_s > _ROOM * least_s


@dataclass(frozen=True)
class _Entry:
    """What a report was made of, and the same report with advice once that was asked for."""

    facts: KernelFacts
    device: Device
    bindings: Mapping[str, int]
    report: KernelReport
    advised: KernelReport | None = None

    def is_of(self, facts: KernelFacts, device: Device, bindings: Mapping[str, int]) -> bool:
        """Whether it was made of equal facts, whichever lines they are at."""
        if (self.device, self.bindings) != (device, bindings):
            return False
        return shift_spans(self.facts, self._shifts_to(facts)) == facts

    def at_lines_of(self, facts: KernelFacts) -> _Entry:
        """This entry at the lines of equal facts."""
        shifts = self._shifts_to(facts)
        advised = self.advised and shift_spans(self.advised, shifts)
        return replace(self, facts=facts, report=shift_spans(self.report, shifts), advised=advised)

    def _shifts_to(self, facts: KernelFacts) -> Sequence[LineShift]:
        return [LineShift(1, _LAST_LINE, facts.span.line - self.facts.span.line)]


class ReportCache:
    """Evaluates kernels and caches the last reports of each. Threads may share one cache.

    An evaluation takes milliseconds and a comparison of facts microseconds. A cached report is
    therefore reused whenever the facts compare equal, also if they were traced again or are at
    other lines. Advice takes many evaluations: a kernel whose figures were asked for first is
    evaluated once more for it, not twice.
    """

    def __init__(self, max_kernels: int = _MAX_KERNELS) -> None:
        self._max_kernels = max_kernels
        self._entries: OrderedDict[tuple[object, ...], tuple[_Entry, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def report(
        self,
        path: str,
        facts: KernelFacts,
        device: Device,
        bindings: Mapping[str, int],
        advice: bool,
    ) -> KernelReport:
        """The result of `evaluate_kernel` for a kernel of the file `path`."""
        key = (path, facts.definition, facts.name, facts.call, device.id)
        with self._lock:
            known = self._entries.get(key, ())
        found = next((one for one in known if one.is_of(facts, device, bindings)), None)
        entry = found and found.at_lines_of(facts)
        if entry is None or (advice and entry.advised is None):
            counts = workload_of(facts, bindings) if advice else None
            if entry is None:
                report = _figures(facts, device, bindings, counts)
                entry = _Entry(facts, device, bindings, report)
            if advice:
                report = _with_advice(entry.report, facts, device, bindings, counts)
                entry = replace(entry, advised=report)
        with self._lock:
            others = (one for one in known if one is not found)
            self._entries[key] = (entry, *others)[:_MAX_VERSIONS]
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_kernels:
                self._entries.popitem(last=False)
        return entry.advised if advice and entry.advised is not None else entry.report
