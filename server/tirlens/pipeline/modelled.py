"""The last report of each kernel, good for as long as what it was made of is the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tirlens.advice import Question, advise
from tirlens.hardware import Device
from tirlens.model import analyze, workload_of
from tirlens.model.report import KernelReport
from tirlens.pipeline.moved import Moved
from tirlens_worker.facts import KernelFacts

# Two files of 500 kernels.
_KEPT = 1000
# Behind the last line of every text.
_LAST_LINE = 1 << 30


def evaluate(
    facts: KernelFacts, device: Device, bindings: Mapping[str, int], advice: bool
) -> KernelReport:
    """What the model says of a kernel, with what the rules advise if `advice` is wanted."""
    if not advice:
        return analyze(facts, device, bindings)
    known = workload_of(facts, bindings)
    if known is not None:
        # What-ifs change the facts that were counted, and so keep what they leave alone.
        facts = known.facts
    done = analyze(facts, device, bindings, known)
    question = Question(facts, device, bindings, report=done, known=known)
    return replace(done, advice=advise(question))


@dataclass(frozen=True)
class _Kept:
    facts: KernelFacts
    device: Device
    bindings: Mapping[str, int]
    report: KernelReport


class Modelled:
    """Evaluates kernels and keeps the last report of each; threads may share one.

    An evaluation takes milliseconds and a comparison microseconds, so facts are compared with
    those of the kept report: also facts that were traced anew, or that stand at other lines, are
    known again.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._most = kept
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def report(
        self,
        path: str,
        facts: KernelFacts,
        device: Device,
        bindings: Mapping[str, int],
        advice: bool,
    ) -> KernelReport:
        """What `evaluate` gives for a kernel of the file `path`."""
        key = (path, facts.definition, facts.name, facts.call, device.id, advice)
        with self._lock:
            kept = self._kept.get(key)
        found = None
        if kept is not None and (kept.device, kept.bindings) == (device, bindings):
            found = _known(kept, facts)
        if found is None:
            found = evaluate(facts, device, bindings, advice)
        with self._lock:
            self._kept[key] = _Kept(facts, device, bindings, found)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


def _known(kept: _Kept, facts: KernelFacts) -> KernelReport | None:
    """The kept report, at the lines of `facts`; None if these are others than it was made of."""
    shift = facts.span.line - kept.facts.span.line
    if not shift:
        return kept.report if kept.facts == facts else None
    moved = Moved(((1, _LAST_LINE),), ((1 + shift, _LAST_LINE + shift),))
    return moved.value(kept.report) if moved.value(kept.facts) == facts else None
