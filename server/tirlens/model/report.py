"""What the model says of a kernel: the one object from which labels, hovers, tables and JSON come.

Quantities are SI base units (seconds, bytes, operations) and exact integers for counts.  None
means unknown, never 0; a caveat says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tirlens.budget import NO_BUDGET, Budget
from tirlens.model.operations import Operations, integer_flop
from tirlens.source.edits import Change, Replacement
from tirlens_worker.facts import Built, LoweredLaunch, ModelSizes, Span


@dataclass(frozen=True)
class ReadWrite:
    """Bytes read and written."""

    read: int | None
    write: int | None

    @property
    def total(self) -> int | None:
        """The sum in bytes; None where one of both is not known."""
        if self.read is None or self.write is None:
            return None
        return self.read + self.write


@dataclass(frozen=True)
class ArrayShape:
    """An array that the kernel takes; `shape` is None where a dimension is not known."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Occupancy:
    """Blocks resident on one SM, the fraction of its warp slots they fill, and what limits them."""

    blocks_per_sm: int
    fraction: float
    limiter: str


@dataclass(frozen=True)
class Waves:
    """`count` full and partial waves of blocks; `tail_fraction` of the time the SMs wait."""

    count: float
    tail_fraction: float


@dataclass(frozen=True)
class BreakdownEntry:
    """One line of the breakdown, with all that is inside it.

    `kind` is one of the contract's words (``pipelined serial parallel unroll vectorized grid
    block op branch launch tail``).  `time_s` is its own share plus its children's.
    `overlapped_s` is the busy time of its resources while others bound the kernel; it is no part
    of `time_s`.  `executions` counts how often the node runs over the whole launch.  `trips` is the
    largest trip count of a loop, and `mean_trips` the mean where it varies from one execution to
    another (triangular loops, windows), else None.  `sites` are the source locations, the kernel's
    own first.
    `step` says what a statement does that others wait for: ``load`` and ``store`` in global memory,
    ``atomic``, ``product`` of matrix units, ``barrier`` or ``arithmetic``; empty for a loop.
    `step_arrays` are the arrays in global memory that it loads, stores or updates.
    `path` is what the line became on the device (``mma.sync``, ``TMA``, ``3 buffers``), and `lost`
    what its source asks for that it did not become, with the reason; empty where it lost nothing.
    """

    kind: str
    label: str
    span: Span
    trips: int | None
    executions: int | None
    flop: int | None
    global_bytes: int | None
    dram_bytes: float | None
    time_s: float | None
    share: float | None
    bound: str | None
    children: tuple[BreakdownEntry, ...] = ()
    sites: tuple[Span, ...] = ()
    op: str | None = None
    l2_bytes: float | None = None
    shared_bytes: int | None = None
    overlapped_s: float | None = None
    details: tuple[tuple[str, str], ...] = ()
    mean_trips: float | None = None
    step: str = ""
    step_arrays: tuple[str, ...] = ()
    int_ops: int | None = 0
    integer_flop: int = 0
    path: tuple[str, ...] = ()
    lost: str = ""

    @property
    def operations(self) -> Operations:
        """The operations of the line and of all inside it."""
        return Operations(self.flop, self.int_ops, self.integer_flop)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, BreakdownEntry]]:
        """The line and all inside it, each behind its depth, a parent before its children."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(frozen=True)
class Advice:
    """A change that the model expects to help, with its predicted saving.

    `action` is the change in a few words, a plural noun to be followed by "save 0.7 ms": ``3
    stages``.
    `change` is what to write where that needs no thought, `edit` how that is written in the text,
    if it can be in one place.  It `is_tried` if the framework has accepted the edit, and `saving_s`
    is the difference of both texts.
    """

    rule: str
    span: Span
    severity: str
    message: str
    action: str
    saving_s: float | None = None
    change: Change | None = None
    edit: Replacement | None = None
    is_tried: bool = False

    @property
    def offered_edit(self) -> Replacement | None:
        """The edit, once it was tried."""
        return self.edit if self.is_tried else None


@dataclass(frozen=True)
class CaveatNote:
    """What is assumed, left out or not known, and where.

    `is_spill`: it says that the registers of a thread do not hold its part of the tiles.
    `is_defect`: the kernel itself is wrong, for example where it reads past the end of an array.
    """

    message: str
    span: Span | None = None
    is_spill: bool = False
    is_defect: bool = False


@dataclass(frozen=True)
class SequenceLaunch:
    """One of the launches of a function that launches several kernels in sequence."""

    grid: tuple[int, ...]
    threads_per_block: int | None
    shared_bytes_per_block: int | None
    time_s: float | None
    time_band_s: tuple[float, float] | None
    roofline_time_s: float | None
    bound: str | None


@dataclass(frozen=True)
class MeasuredTime:
    """A measured time of a kernel with the same call, from the file of measured times.

    `time_s` is the median or mean of one execution, `low_s` and `high_s` its 10th and 90th
    percentile.  `measured_at_s` is Unix time.  `is_edited`: the kernel's text is another since;
    None where that is not known.  `edits` are the saved texts of the kernel since, where they are
    known.
    """

    device_id: str
    time_s: float
    measured_at_s: float
    tool: str
    low_s: float | None = None
    high_s: float | None = None
    samples: int | None = None
    board: str = ""
    is_edited: bool | None = None
    edits: int | None = None


@dataclass(frozen=True)
class KernelReport:
    """The analysis of one kernel on one device with one set of bindings.

    The fields are those of the contract's JSON (``--format json``), which documents them.
    `compulsory_bytes` is an upper bound unless `compulsory_is_exact`; `compulsory_sector_bytes` are
    the same bytes in whole sectors of the device's DRAM, exact if `compulsory_sectors_are_exact`.
    `useful_flop` of `flop` contribute to the result: tile products neither beyond the edge of an
    array nor behind a mask (these are `masked_flop`), and all that is no tile product.
    `status` is ``ok``, ``no-time``, ``needs-bindings``, ``unsupported`` or ``error``.  A kernel
    without a time has its counts, and `message` has the reason; a kernel with any other status but
    ``ok`` has no numbers.  `device_source` says who chose the device (``directive``, ``project``,
    ``option``, ``target``, ``schedule``, ``instructions``, ``machine``, ``default``).  `call_site`
    is the place of the call in another file, `launches` how often a captured call was launched.
    `assumed` are the arguments and sizes that nothing gives, as expressions by name, and `model`
    those of the arguments and sizes that are a language model's.
    `math_fidelity` is that of the matrix products on a device that has several, and
    `math_fidelity_source` who chose it (``directive``, ``project``, ``option``, ``default``: the
    vendor's library, by the types of the operands); None and empty for other kernels and devices.
    `arrays` are those that the kernel takes, and `sizes` the arguments and dynamic dimensions on
    which their shapes depend; empty where that is not known.
    `built` is set for a kernel that a statement builds.  For a version of a schedule, `previous_s`
    is the time of the version before it and `is_last_version` whether none follows.
    `budget` is what the text or the project
    allows it on this device.  `uncertainty` has the parts of the
    time band by name, of the logarithm of the time (`band`).  `sequence` has the launches of a
    function that launches several kernels; it is empty for one.  `measured` are the times that are
    stored for it, that on its own device first.
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
    call_site: Span | None = None
    launches: int | None = None
    assumed: Mapping[str, str] = field(default_factory=dict[str, str])
    model: ModelSizes | None = None
    math_fidelity: str | None = None
    math_fidelity_source: str = ""
    arrays: tuple[ArrayShape, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    sm_count: int | None = None
    status: str = "ok"
    needs: tuple[str, ...] = ()
    message: str = ""
    schedule: str = "gpu"
    grid: tuple[int, ...] = ()
    threads_per_block: int | None = None
    threads_written: int | None = None
    shared_bytes_per_block: int | None = None
    registers_per_thread: int | None = None
    launch_facts: str = "source"
    lowered: LoweredLaunch | None = None
    lowering_error: str = ""
    flop: int | None = None
    useful_flop: int | None = None
    masked_flop: int | None = None
    flop_by_class: Mapping[str, int] = field(default_factory=dict[str, int])
    int_ops: int | None = None
    global_bytes: ReadWrite = ReadWrite(None, None)
    compulsory_bytes: int | None = None
    compulsory_is_exact: bool = True
    compulsory_sector_bytes: int | None = None
    compulsory_sectors_are_exact: bool = True
    dram_bytes: ReadWrite = ReadWrite(None, None)
    l2_bytes: int | None = None
    shared_bytes: int | None = None
    time_s: float | None = None
    time_band_s: tuple[float, float] | None = None
    uncertainty: Mapping[str, float] = field(default_factory=dict[str, float])
    roofline_time_s: float | None = None
    bound: str | None = None
    bound_class: str | None = None
    bound_reason: str = ""
    arithmetic_intensity: float | None = None
    ridge_point: float | None = None
    flop_per_s: float | None = None
    peak_fraction: float | None = None
    dram_bytes_per_s: float | None = None
    dram_fraction: float | None = None
    utilisation: Mapping[str, float] = field(default_factory=dict[str, float])
    occupancy: Occupancy | None = None
    waves: Waves | None = None
    formula: Mapping[str, str] = field(default_factory=dict[str, str])
    loops: tuple[BreakdownEntry, ...] = ()
    advice: tuple[Advice, ...] = ()
    caveats: tuple[CaveatNote, ...] = ()
    device_source: str = ""
    budget: Budget = NO_BUDGET
    built: Built | None = None
    previous_s: float | None = None
    is_last_version: bool = True
    sequence: tuple[SequenceLaunch, ...] = ()
    measured: tuple[MeasuredTime, ...] = ()

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
    def operations(self) -> Operations:
        """The operations of the kernel."""
        return Operations(self.flop, self.int_ops, integer_flop(self.flop_by_class))

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

    def replace(self, **fields: Any) -> KernelReport:
        """The report with other values in some fields; `replace` looks at each of them."""
        report = object.__new__(KernelReport)
        report.__dict__.update(self.__dict__, **fields)
        return report
