"""The breakdown of a kernel: a tree of its loops and statements with their figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tirlens_worker.facts import Span

from ..operations import Operations
from .figure import figure, no_sum, of_longest, total


@dataclass(frozen=True, kw_only=True)
class LineRuns:
    """How often a line runs."""

    trips: int | None = figure(
        "iterations of a loop each time that it runs; the largest number where they vary",
        merge=of_longest,
        term="trips",
        column="trips",
    )
    mean_trips: float | None = figure(
        "iterations on average where they vary from one execution to another (triangular loops, "
        "windows); else null",
        merge=of_longest,
    )
    executions: int | None = figure(
        "how often the line runs over the whole launch", merge=total, term="executions"
    )


@dataclass(frozen=True, kw_only=True)
class LineTime:
    """The time of a line and of all inside it."""

    time_s: float | None = figure(
        "time of the line and everything inside it",
        merge=total,
        unit="s",
        term="time",
        column="time",
    )
    share: float | None = figure(
        "the part of the kernel's time", merge=total, unit="fraction", term="share", column="share"
    )
    overlapped_s: float | None = figure(
        "busy time that is overlapped with slower work; no part of `time_s`",
        merge=no_sum,
        unit="s",
        term="overlapped",
    )


@dataclass(frozen=True, kw_only=True)
class LineWork:
    """The work of a line and of all inside it."""

    flop: int | None = figure(
        "operations of floating point, and of products of matrix units of any type",
        merge=total,
        unit="FLOP",
        term="FLOP",
        column="FLOP",
    )
    int_ops: int | None = figure(
        "integer operations on data outside of matrix units",
        merge=total,
        unit="IOP",
        term="integer operations",
        anchor="iop",
        default=0,
    )
    integer_flop: int = figure(
        "the part of `flop` that multiplies and adds integers", unit="FLOP", merge=total, default=0
    )
    global_bytes: int | None = figure(
        "bytes of global memory, as issued by the program",
        merge=total,
        unit="bytes",
        term="global memory, issued",
        anchor="global-memory",
        column="global",
    )
    dram_bytes: float | None = figure(
        "bytes of DRAM, after the caches",
        merge=total,
        unit="bytes",
        term="DRAM",
        column="DRAM",
    )
    l2_bytes: float | None = figure(
        "bytes that L2 moves", merge=total, unit="bytes", term="L2", anchor="cache-bytes"
    )
    shared_bytes: int | None = figure(
        "bytes that shared memory moves",
        merge=total,
        unit="bytes",
        term="shared memory",
        anchor="cache-bytes",
    )

    @property
    def operations(self) -> Operations:
        """The operations of the line and of all inside it."""
        return Operations(self.flop, self.int_ops, self.integer_flop)


@dataclass(frozen=True, kw_only=True)
class BreakdownEntry(LineWork, LineTime, LineRuns):
    """One line of the breakdown, with all that is inside it.

    `kind` is one of the contract's words (``pipelined serial parallel unroll vectorized grid
    block op branch launch tail``).  `time_s` is its own share plus its children's.
    `overlapped_s` is the busy time of its resources while others bound the kernel.  `sites` are
    the source locations, the kernel's own first.
    `step` says what a statement does that others wait for: ``load`` and ``store`` in global memory,
    ``atomic``, ``product`` of matrix units, ``barrier`` or ``arithmetic``; empty for a loop.
    `step_arrays` are the arrays in global memory that it loads, stores or updates.
    `path` is what the line became on the device (``mma.sync``, ``TMA``, ``3 buffers``), and `lost`
    what its source asks for that it did not become, with the reason; empty where it lost nothing.
    """

    kind: str
    label: str
    span: Span
    bound: str | None = figure(
        "the unit that [bounds](glossary.md#bounds) it",
        merge=of_longest,
        term="bound",
        anchor="bounds",
        column="bound",
    )
    children: tuple[BreakdownEntry, ...] = ()
    sites: tuple[Span, ...] = ()
    op: str | None = None
    details: tuple[tuple[str, str], ...] = ()
    step: str = ""
    step_arrays: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    lost: str = ""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, BreakdownEntry]]:
        """The line and all inside it, each behind its depth, a parent before its children."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)
