"""What an operation achieved: its part of the time, rates, shares of the peaks, and what bounds it.

The figures are those of Tenstorrent's performance report (tenstorrent/tt-perf-report, README), for
the operations of all formats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tirlens.measured.performance.peaks import Peaks
from tirlens.measured.records import Operation

BoundClass: TypeAlias = Literal["DRAM", "FLOP", "BOTH", "SLOW", "HOST"]

BOUND_FRACTION = 0.65
"""The share of a peak from which on it bounds an operation (tt-perf-report, README)."""


@dataclass(frozen=True, slots=True)
class Performance:
    """One row of the performance report.

    Attributes
    ----------
    number
        Its ID: the row of its file.
    share
        Its device time and the gap before it, as a part of those of all operations.
    bound
        ``DRAM``, ``FLOP`` or ``BOTH`` from 65% of that peak on, ``SLOW`` below both, ``HOST``
        for operations of the host; None where a share that could decide is not known.
    dram_bytes_per_s, flop_per_s
        What it achieved.
    dram_fraction, flop_fraction
        The same as a part of the peak.
    """

    number: int
    operation: Operation
    share: float | None = None
    bound: BoundClass | None = None
    dram_bytes_per_s: float | None = None
    dram_fraction: float | None = None
    flop_per_s: float | None = None
    flop_fraction: float | None = None


def performance(operation: Operation, total_s: float, peaks: Peaks) -> Performance:
    """The row of one operation of several that take `total_s` together."""
    time_s = operation.time_s
    dram_bytes_per_s = _rate(operation.dram_bytes, time_s)
    flop_per_s = _rate(operation.flop, time_s)
    dram_fraction = _rate(dram_bytes_per_s, peaks.dram_bytes_per_s)
    flop_fraction = _rate(flop_per_s, peaks.flop_per_s)
    return Performance(
        operation.position.row,
        operation,
        _share(operation, total_s),
        _bound(operation, dram_fraction, flop_fraction),
        dram_bytes_per_s,
        dram_fraction,
        flop_per_s,
        flop_fraction,
    )


def performances(operations: Iterable[tuple[Operation, Peaks]]) -> tuple[Performance, ...]:
    """The rows of all operations."""
    pairs = tuple(operations)
    total_s = sum(occupied_time_s(operation) or 0.0 for operation, _ in pairs)
    return tuple(performance(operation, total_s, peaks) for operation, peaks in pairs)


def with_shares(rows: Iterable[Performance]) -> tuple[Performance, ...]:
    """Rows of which some were left out, with their parts of the time of those that are left."""
    rows = tuple(rows)
    total_s = sum(occupied_time_s(row.operation) or 0.0 for row in rows)
    return tuple(replace(row, share=_share(row.operation, total_s)) for row in rows)


def occupied_time_s(operation: Operation) -> float | None:
    """The device time of an operation with the gap before it; None where neither is known."""
    if operation.time_s is None and operation.gap_s is None:
        return None
    return (operation.time_s or 0.0) + (operation.gap_s or 0.0)


def _share(operation: Operation, total_s: float) -> float | None:
    occupied_s = occupied_time_s(operation)
    return occupied_s / total_s if occupied_s is not None and total_s else None


def _rate(amount: float | None, per: float | None) -> float | None:
    return amount / per if amount is not None and per else None


def _bound(
    operation: Operation, dram_fraction: float | None, flop_fraction: float | None
) -> BoundClass | None:
    if operation.kind == "host":
        return "HOST"
    is_dram = None if dram_fraction is None else dram_fraction >= BOUND_FRACTION
    is_flop = None if flop_fraction is None else flop_fraction >= BOUND_FRACTION
    if is_dram:
        return "BOTH" if is_flop else "DRAM"
    if is_flop:
        return "FLOP"
    return None if is_dram is None or is_flop is None else "SLOW"
