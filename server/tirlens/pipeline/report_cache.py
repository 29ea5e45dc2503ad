"""Evaluation of kernels by the model, with a cache of the last report of each kernel."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tirlens.advice import Question, advise
from tirlens.hardware import Device
from tirlens.model import analyze, workload_of
from tirlens.model.report import KernelReport
from tirlens.pipeline.span_shift import LineShift, shift_spans
from tirlens_worker.facts import KernelFacts

# Two files of 500 kernels.
_MAX_KERNELS = 1000
# A line after the end of every text.
_LAST_LINE = 1 << 30


def evaluate_kernel(
    facts: KernelFacts, device: Device, bindings: Mapping[str, int], advice: bool
) -> KernelReport:
    """Evaluate a kernel by the model, and by the advice rules if `advice` is true."""
    if not advice:
        return analyze(facts, device, bindings)
    known = workload_of(facts, bindings)
    if known is not None:
        # A what-if changes the facts that were counted, and shares the unchanged ones with them.
        facts = known.facts
    report = analyze(facts, device, bindings, known)
    question = Question(facts, device, bindings, report=report, workload=known)
    report = replace(report, advice=advise(question))
    if facts.compiled and report.advice:
        uncompiled = analyze(replace(facts, compiled=()), device, bindings, known, by_line=False)
        report = replace(report, uncompiled_time_s=uncompiled.time_s)
    return report


@dataclass(frozen=True)
class _Entry:
    facts: KernelFacts
    device: Device
    bindings: Mapping[str, int]
    report: KernelReport


class ReportCache:
    """Evaluates kernels and caches the last report of each. Threads may share one cache.

    An evaluation takes milliseconds and a comparison of facts microseconds. A cached report is
    therefore reused whenever the facts compare equal, also if they were traced again or are at
    other lines.
    """

    def __init__(self, max_kernels: int = _MAX_KERNELS) -> None:
        self._max_kernels = max_kernels
        self._entries: OrderedDict[tuple[object, ...], _Entry] = OrderedDict()
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
        key = (path, facts.definition, facts.name, facts.call, device.id, advice)
        with self._lock:
            entry = self._entries.get(key)
        report = None
        if entry is not None and (entry.device, entry.bindings) == (device, bindings):
            report = _cached_report(entry, facts)
        if report is None:
            report = evaluate_kernel(facts, device, bindings, advice)
        with self._lock:
            self._entries[key] = _Entry(facts, device, bindings, report)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_kernels:
                self._entries.popitem(last=False)
        return report


def _cached_report(entry: _Entry, facts: KernelFacts) -> KernelReport | None:
    """The report of `entry` at the lines of `facts`; None unless it was made of equal facts."""
    lines = facts.span.line - entry.facts.span.line
    shifts = [LineShift(1, _LAST_LINE, lines)]
    if shift_spans(entry.facts, shifts) != facts:
        return None
    return shift_spans(entry.report, shifts)
