"""The figures of a kernel, in groups that are computed each by a function of its own.

Quantities are SI base units (seconds, bytes, operations) and exact integers for counts.  None
means unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..operations import Operations, integer_flop
from .figure import every, figure, mean, no_sum, of_longest, total
from .values import Occupancy, ReadWrite, Waves

_UNKNOWN = ReadWrite(None, None)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The predicted time, what makes it uncertain, and what bounds it."""

    time_s: float | None = figure(
        "predicted time of one launch", merge=total, unit="s", term="time", column="time"
    )
    time_band_s: tuple[float, float] | None = figure(
        "the interval that contains four of five measured times",
        merge=total,
        unit="s",
        term="band",
        column="band",
    )
    uncertainty: Mapping[str, float] = figure(
        "the parts of the band, of the logarithm of the time: `rate`, `instructions`, `reuse`, "
        "`waits` and `launch`",
        merge=mean,
        default_factory=dict[str, float],
    )
    confidence: float | None = figure(
        "the chance that a measured time is in `time_band_s`, by measured kernels of the same "
        "architecture, framework and class of bound",
        merge=mean,
        unit="fraction",
        term="confidence",
    )
    confidence_reasons: tuple[str, ...] = figure(
        "what `confidence` is known from, as sentences", merge=of_longest, default=()
    )
    roofline_time_s: float | None = figure(
        "the time of the same work at the data sheet's rates",
        merge=total,
        unit="s",
        term="roofline",
    )
    reachable_time_s: float | None = figure(
        "the predicted time of the best known structure for the job of the kernel, or of the "
        "kernel itself where that is faster; known with advice, for products and for kernels "
        "without matrix products that take 15 % more than their roofline",
        merge=total,
        unit="s",
        term="reachable",
        column="reachable",
    )
    reachable_by: str = figure(
        "that structure in words; empty where it is not faster than the kernel",
        merge=of_longest,
        default="",
    )
    bound: str | None = figure(
        "what bounds the kernel: see [Bounds](glossary.md#bounds)",
        merge=of_longest,
        term="bound",
        anchor="bounds",
        column="bound",
    )
    bound_class: str | None = figure(
        "`compute`, `memory`, `latency` or `balanced`", merge=of_longest
    )
    bound_reason: str = figure("the bound in words", merge=of_longest, default="")
    utilisation: Mapping[str, float] = figure(
        "the busy share of each unit",
        merge=mean,
        unit="fraction",
        default_factory=dict[str, float],
    )


@dataclass(frozen=True, kw_only=True)
class Work:
    """The operations of a kernel.

    `useful_flop` of `flop` contribute to the result: tile products neither beyond the edge of an
    array nor behind a mask (these are `masked_flop`), and all that is no tile product.
    """

    flop: int | None = figure(
        "operations of floating point, and of products of matrix units of any type",
        merge=total,
        unit="FLOP",
        term="FLOP",
        column="FLOP",
    )
    int_ops: int | None = figure(
        "integer operations on data outside of matrix units; a multiply-accumulate is 2, index "
        "arithmetic and comparisons 0",
        merge=total,
        unit="IOP",
        term="integer operations",
        anchor="iop",
    )
    useful_flop: int | None = figure(
        "the part of `flop` that contributes to the result", merge=total, unit="FLOP", term="useful"
    )
    masked_flop: int | None = figure(
        "the part of `flop` whose result a mask discards", merge=total, unit="FLOP"
    )
    flop_by_class: Mapping[str, int] = figure(
        "`flop` by class of arithmetic: `fp32`, `sfu`, `tensor.int8`",
        merge=total,
        unit="FLOP",
        default_factory=dict[str, int],
    )
    formula: Mapping[str, str] = figure(
        "`flop` and `global_bytes` in the dynamic dimensions, where they are known",
        merge=no_sum,
        default_factory=dict[str, str],
    )

    @property
    def operations(self) -> Operations:
        """The operations of the kernel."""
        return Operations(self.flop, self.int_ops, integer_flop(self.flop_by_class))


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The rates at the predicted time."""

    flop_per_s: float | None = figure(
        "`flop` per second", merge=no_sum, unit="FLOP/s", term="rate", column="rate"
    )
    peak_fraction: float | None = figure(
        "the rate of the main operations over that of the data sheet",
        merge=mean,
        unit="fraction",
        column="peak",
    )
    dram_bytes_per_s: float | None = figure(
        "`dram_bytes` per second", merge=no_sum, unit="bytes/s", term="bandwidth", anchor="rate"
    )
    dram_fraction: float | None = figure(
        "the rate of DRAM over that of the data sheet", merge=mean, unit="fraction"
    )


@dataclass(frozen=True, kw_only=True)
class MemoryTraffic:
    """The bytes that a kernel moves at each level of the memory.

    `compulsory_bytes` is an upper bound unless `compulsory_is_exact`; `compulsory_sector_bytes` are
    the same bytes in whole sectors of the device's DRAM, exact if `compulsory_sectors_are_exact`.
    """

    global_bytes: ReadWrite = figure(
        "bytes of global memory, as issued by the program",
        merge=total,
        unit="bytes",
        term="global memory, issued",
        anchor="global-memory",
        column="issued",
        default=_UNKNOWN,
    )
    compulsory_bytes: int | None = figure(
        "distinct bytes read plus distinct bytes written",
        merge=total,
        unit="bytes",
        term="compulsory",
        column="compulsory",
    )
    compulsory_is_exact: bool = figure(
        "false where `compulsory_bytes` is an upper bound", merge=every, default=True
    )
    compulsory_sector_bytes: int | None = figure(
        "`compulsory_bytes` in whole sectors of the device's DRAM", merge=total, unit="bytes"
    )
    compulsory_sectors_are_exact: bool = figure(
        "false where `compulsory_sector_bytes` is an upper bound", merge=every, default=True
    )
    dram_bytes: ReadWrite = figure(
        "bytes of DRAM, after the caches",
        merge=total,
        unit="bytes",
        term="DRAM",
        column="DRAM",
        default=_UNKNOWN,
    )
    l2_bytes: int | None = figure(
        "bytes that L2 moves", merge=total, unit="bytes", term="L2", anchor="cache-bytes"
    )
    shared_bytes: int | None = figure(
        "bytes that shared memory moves",
        merge=total,
        unit="bytes",
        term="shared memory",
        anchor="cache-bytes",
    )
    arithmetic_intensity: float | None = figure(
        "FLOP per DRAM byte; integer operations per byte where these are most of the work",
        merge=no_sum,
        unit="FLOP/B",
        term="intensity",
        column="FLOP/B",
    )
    ridge_point: float | None = figure(
        "the intensity at which arithmetic and DRAM take equally long on the device",
        merge=of_longest,
        unit="FLOP/B",
    )


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The launch of a kernel; a GPU's has blocks.

    `threads_written` are the threads of a block in the source, `threads_per_block` as launched.
    """

    schedule: str = figure(
        "`gpu`, `cpu` or `unscheduled` (the time is a lower bound)", merge=of_longest, default="gpu"
    )
    grid: tuple[int, ...] = figure(
        "blocks along x, y and z", merge=of_longest, term="launch", anchor="blocks", default=()
    )
    threads_per_block: int | None = figure("threads of a block, as launched", merge=of_longest)
    threads_written: int | None = figure("threads of a block in the source", merge=of_longest)
    shared_bytes_per_block: int | None = figure(
        "shared memory of a block", merge=of_longest, unit="bytes"
    )
    registers_per_thread: int | None = figure(
        "registers of a thread as launched: ptxas's of a compiled kernel, else estimated",
        merge=of_longest,
        term="registers",
    )
    stack_bytes: int | None = figure(
        "local memory of a thread: ptxas's of a compiled kernel, else estimated spills",
        merge=of_longest,
        unit="bytes",
    )
    spill_bytes: int | None = figure(
        "bytes of registers that the code of a thread stores to local memory and loads again: "
        "ptxas's of a compiled kernel, else estimated",
        merge=of_longest,
        unit="bytes",
    )
    occupancy: Occupancy | None = figure(
        "`blocks_per_sm`, `fraction` of the warp slots of an SM, and their `limiter`",
        merge=of_longest,
        term="occupancy",
        column="occupancy",
    )
    waves: Waves | None = figure(
        "`count` of the waves of blocks, and the `tail_fraction` of the time for which SMs wait",
        merge=of_longest,
        term="waves",
        column="waves",
    )
