"""The input of an advice rule, and the model evaluations that it can request.

Every rule is a counterfactual: it changes the facts as the user would change the source, evaluates
the model again, and reports the difference.  An evaluation takes milliseconds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from tirlens.hardware.spec import Device
from tirlens.model import Workload, analyze, workload_of
from tirlens.model.gpu.mapping.array_mappings import map_array_accesses
from tirlens.model.gpu.memory.global_accesses import GlobalAccess
from tirlens.model.report import Advice, KernelReport
from tirlens.model.tree.node import Leaf, leaves_of
from tirlens.model.tree.thread_mapping import MemoryRequest, ThreadMapping
from tirlens_worker.facts import Buffer, KernelFacts, Loop, Span, Statement

#: Savings below this share of the kernel's time are within the model's noise and not shown.
NOTICEABLE = 0.03


#: Statements, each with the request of each of its accesses; None where it has none.
Requests: TypeAlias = tuple[tuple[Leaf, tuple[MemoryRequest | None, ...]], ...]


def _requests(workload: Workload | None) -> Requests:
    if workload is None:
        return ()
    instructions = workload.instructions
    return tuple((leaf, instructions[leaf].mapping.requests) for leaf in leaves_of(workload.tree))


@dataclass(frozen=True)
class Question:
    """One analysed kernel, and the means to ask what would be if it were written otherwise.

    `known` are the counts that the report was made of; without them the kernel is counted again.
    """

    facts: KernelFacts
    device: Device
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])
    report: KernelReport = field(kw_only=True)
    workload: Workload | None = field(default=None, kw_only=True)

    def what_if(self, facts: KernelFacts) -> KernelReport:
        """The report of `facts` on the same device with the same bindings, not line by line.

        The results of lowering and compilation are dropped, as they hold for the unchanged source
        only.
        """
        if facts.lowered or facts.compiled or facts.assembly:
            facts = replace(facts, lowered=(), compiled=(), assembly=())
        return analyze(facts, self.device, self.bindings, self._workload, by_line=False)

    def answer(self, rule: Rule) -> tuple[Advice, ...]:
        """The advice of a rule, which another one may compare its own with."""
        if rule not in self._answers:
            self._answers[rule] = tuple(rule(self))
        return self._answers[rule]

    @cached_property
    def _answers(self) -> dict[Rule, tuple[Advice, ...]]:
        return {}

    @cached_property
    def _workload(self) -> Workload | None:
        """The counts of the facts as they are, which most changes leave alone."""
        return self.workload or workload_of(self.facts, self.bindings)

    @cached_property
    def requests(self) -> Requests:
        """The memory requests of each statement; empty where the facts have no counts."""
        return _requests(self._of_device(self._workload))

    def requests_of(self, facts: KernelFacts) -> Requests:
        """The same of changed facts."""
        return _requests(self._of_device(workload_of(facts, self.bindings)))

    @property
    def global_accesses(self) -> Sequence[GlobalAccess]:
        """The accesses to global memory with their distinct bytes; empty without counts."""
        workload = self._of_device(self._workload)
        return () if workload is None else workload.global_accesses

    def _of_device(self, workload: Workload | None) -> Workload | None:
        """The workload with the warps of the device."""
        return workload and workload.with_warps_of(self.device.limits.warp_size)

    def mappings_of(self, array: Buffer) -> tuple[ThreadMapping, ...] | None:
        """The thread mappings of the statements that access `array`, in whichever shape it has.

        None where the facts have no counts.
        """
        known = self._of_device(self._workload)
        if known is None:
            return None
        return map_array_accesses(
            leaves_of(known.tree),
            known.mapped.accumulators,
            array,
            known.buffers,
            known.facts.framework,
        )

    def saving_s(self, facts: KernelFacts, part: Loop | Statement | None = None) -> float | None:
        """Seconds that `facts` would save; None where either time is unknown or it cannot run.

        A change of `part` alone saves at most the time of that part.
        """
        saving_s = self.saving_of_report_s(self.what_if(facts))
        part_s = self._times_s.get(part.sites) if part is not None else None
        return saving_s if saving_s is None or part_s is None else min(saving_s, part_s)

    def saving_of_report_s(self, changed: KernelReport) -> float | None:
        """Seconds that the kernel of the report `changed` would save; None as in `saving_s`."""
        if changed.time_s is None:
            return None
        shared = changed.shared_bytes_per_block
        if shared is not None and shared > self.device.limits.shared_bytes_per_block:
            return None
        of_source_s, displayed_s = self._as_written.time_s, self.report.time_s
        if of_source_s is None or displayed_s is None:
            return None
        # The lowered kernel may be faster than its source tells.
        saving_s = min(of_source_s, displayed_s) - changed.time_s
        return min(saving_s, self._most_s(changed.roofline_time_s))

    def most_s(self) -> float:
        """The most seconds that another schedule of the same work can save.

        What is left is at least the roofline, and the launches.
        """
        return self._most_s(self.report.roofline_time_s)

    def _most_s(self, roofline_s: float | None) -> float:
        """The time above the launches and above a roofline: the kernel's, or that of a change."""
        time_s = self.report.time_s or 0.0
        launches_s = sum(item.time_s or 0.0 for item in self.report.loops if item.kind == "launch")
        rooflines_s = [item for item in (roofline_s, self.report.roofline_time_s) if item]
        return max(0.0, time_s - max(launches_s, min(rooflines_s, default=0.0)))

    @property
    def has_assumed_sizes(self) -> bool:
        """Whether nothing in the program gives the sizes: the number of blocks is not known."""
        return any(_is_size(value) for value in self.report.assumed.values())

    @property
    def is_one_launch(self) -> bool:
        """Whether the function is one launch: of several, the grid is that of the longest."""
        return sum(item.kind == "launch" for item in self.report.loops) <= 1

    @cached_property
    def _as_written(self) -> KernelReport:
        """The report by the source alone, to which that of a changed source can be compared."""
        facts = self.facts
        if not (facts.lowered or facts.compiled or facts.assembly):
            return self.report
        return self.what_if(self.facts)

    def can_save(self, node: Loop | Statement) -> bool:
        """Whether a change of `node` alone can save a noticeable share of the kernel's time.

        It cannot where all of the node takes less than that, which needs no evaluation to know.
        """
        time_s = self._times_s.get(node.sites)
        return time_s is None or self.is_noticeable(time_s)

    @cached_property
    def _times_s(self) -> Mapping[tuple[Span, ...], float | None]:
        """The times of the lines of the report by their sites; None where one is not known."""
        found: dict[tuple[Span, ...], float | None] = {}
        for top in self.report.loops:
            for _, entry in top.walk():
                known, more = found.get(entry.sites, 0.0), entry.time_s
                found[entry.sites] = None if known is None or more is None else known + more
        return found

    def is_noticeable(self, saving_s: float | None) -> bool:
        """Whether a saving in seconds is a noticeable share of the kernel's time."""
        time_s = self.report.time_s
        return saving_s is not None and time_s is not None and saving_s >= NOTICEABLE * time_s


def _is_size(expression: str) -> bool:
    try:
        value = ast.literal_eval(expression)
    except (ValueError, SyntaxError):
        # An array, or what is computed of a size.
        return any(character.isdigit() for character in expression)
    return type(value) is int


Rule = Callable[[Question], Iterator[Advice]]
