"""What the model says of a kernel: the one object from which labels, hovers, tables and JSON come.

Quantities are SI base units (seconds, bytes, operations) and exact integers for counts.  None
means unknown, never 0; a caveat says what is missing.  The parts of a report are computed each by a
function of its own from what the stages found (`tirlens.model.reporting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tirlens.budget import NO_BUDGET, Budget
from tirlens.evaluation.search_result import KnownValue
from tirlens_worker.facts import Built, CompiledLaunch, LoweredLaunch, ModelSizes, Span

from .breakdown import BreakdownEntry
from .kernel_figures import Launch, MemoryTraffic, Rates, Timing, Work
from .values import (
    Advice,
    ArrayShape,
    CaveatNote,
    MeasuredTime,
    SequenceLaunch,
)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The kernel, the call, and the device of a report.

    `assumed` are the arguments and sizes that nothing gives, as expressions by name, and `model`
    those of the arguments and sizes that are a language model's.  `built` is set for a kernel that
    a statement builds.  `lowered` is what its framework made of it for the
    device, and `lowering_error` why it made nothing; `compiled` is what the compiler made of that.
    `launch_facts` is the last of these tiers that is known: ``source``, ``lowered``, ``compiled``.
    """

    name: str
    definition: str
    span: Span
    framework: str
    framework_version: str
    call: str
    call_source: str
    bindings: Mapping[str, int]
    device_id: str
    device_name: str
    assumed: Mapping[str, str] = field(default_factory=dict[str, str])
    model: ModelSizes | None = None
    sm_count: int | None = None
    launch_facts: str = "source"
    lowered: LoweredLaunch | None = None
    compiled: CompiledLaunch | None = None
    lowering_error: str = ""
    built: Built | None = None


@dataclass(frozen=True, kw_only=True)
class KernelReport(Launch, MemoryTraffic, Rates, Work, Timing, Identity):
    """The analysis of one kernel on one device with one set of bindings.

    The fields are those of the contract's JSON (``--format json``), which documents them.
    `status` is ``ok``, ``no-time``, ``needs-bindings``, ``unsupported`` or ``error``.  A kernel
    without a time has its counts, and `message` has the reason: the kernel `is_refused` if the
    device or the framework does not run it.  A kernel with any other status but
    ``ok`` has no numbers.  `device_source` says who chose the device (``directive``, ``project``,
    ``option``, ``target``, ``schedule``, ``instructions``, ``machine``, ``default``).  `call_site`
    is the place of the call in another file, `known` are the arguments of an assumed call that the
    text gives, which `assumed` does not have, `launches` how often a captured call was launched.
    `math_fidelity` is that of the matrix products on a device that has several, and
    `math_fidelity_source` who chose it (``directive``, ``project``, ``option``, ``default``: the
    vendor's library, by the types of the operands); None and empty for other kernels and devices.
    `arrays` are those that the kernel takes, and `sizes` the arguments and dynamic dimensions on
    which their shapes depend; empty where that is not known.
    For a version of a schedule, `previous_s` is the time of the version before it and
    `is_last_version` whether none follows.  `budget` is what the text or the project allows it on
    this device.  `sequence` has the launches of a function that launches several kernels; it is
    empty for one.  `measured` are the times that are stored for it, that on its own device first.
    `uncompiled_time_s` is the time of a compiled kernel with advice by the tier before, to compare
    with that of a text that is not compiled.
    """

    status: str = "ok"
    needs: tuple[str, ...] = ()
    message: str = ""
    is_refused: bool = False
    math_fidelity: str | None = None
    arrays: tuple[ArrayShape, ...] = ()
    loops: tuple[BreakdownEntry, ...] = ()
    caveats: tuple[CaveatNote, ...] = ()
    sequence: tuple[SequenceLaunch, ...] = ()
    advice: tuple[Advice, ...] = ()
    call_site: Span | None = None
    known: tuple[KnownValue, ...] = ()
    launches: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    device_source: str = ""
    math_fidelity_source: str = ""
    budget: Budget = NO_BUDGET
    previous_s: float | None = None
    is_last_version: bool = True
    measured: tuple[MeasuredTime, ...] = ()
    uncompiled_time_s: float | None = None

    @property
    def launch(self) -> SequenceLaunch:
        """The launch, with the figures of the whole function."""
        return SequenceLaunch(
            self.grid,
            self.threads_per_block,
            self.shared_bytes_per_block,
            self.time_s,
            self.time_band_s,
            self.roofline_time_s,
            self.bound,
        )

    @property
    def is_repeated(self) -> bool:
        """Whether the breakdown of the kernel is that of another one in the file, or replaced."""
        same = self.built is not None and self.built.same_as is not None
        return same or not self.is_last_version

    @property
    def has_counts(self) -> bool:
        """Whether the kernel is counted, be its time known or not."""
        return self.status in ("ok", "no-time")

    @property
    def over_budget(self) -> tuple[str, ...]:
        """Which of ``time_s`` and ``dram_bytes`` are known to be more than the budget."""
        pairs = (
            ("time_s", self.time_s, self.budget.time_s),
            ("dram_bytes", self.dram_bytes.total, self.budget.dram_bytes),
        )
        return tuple(
            name
            for name, value, most in pairs
            if value is not None and most is not None and value > most
        )

    def walk(self) -> Iterator[tuple[int, BreakdownEntry]]:
        """Every line of the breakdown behind its depth, a parent before its children."""
        for cost in self.loops:
            yield from cost.walk()
