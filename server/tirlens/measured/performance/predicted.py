"""Predicted kernels as rows of the performance report, beside which measured ones stand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from tirlens.measured.performance.peaks import Peaks
from tirlens.measured.performance.rates import Performance, performances
from tirlens.measured.records import Operation, Position, Tensor
from tirlens.model.report import KernelReport


def predicted_rows(
    kernels: Iterable[tuple[str, KernelReport]], by_launches: bool = False
) -> tuple[Performance, ...]:
    """The rows of predicted kernels, with IDs from 1.

    Parameters
    ----------
    kernels
        Paths of files and their kernels. Repeated versions of a schedule are left out, as one of
        them runs.
    by_launches
        Each captured call counts as often as it was launched.
    """
    rows = performances(
        (_operation(path, kernel, by_launches), _peaks(kernel))
        for path, kernel in kernels
        if not kernel.is_repeated
    )
    return tuple(replace(row, number=number) for number, row in enumerate(rows, 1))


def _operation(path: str, kernel: KernelReport, by_launches: bool) -> Operation:
    launches = (kernel.launches or 1) if by_launches else 1
    grid = (*kernel.grid, 1, 1, 1)[:3] if kernel.grid else None
    attributes = {
        "description": _description(kernel),
        "math fidelity": kernel.math_fidelity or "",
        "call": kernel.call,
    }
    return Operation(
        kernel.definition,
        Position(path, kernel.span.line),
        device=kernel.device_id,
        time_s=_times(kernel.time_s, launches),
        executions=launches,
        grid=None if grid is None else (grid[0], grid[1], grid[2]),
        block=None if kernel.threads_per_block is None else (kernel.threads_per_block, 1, 1),
        shared_bytes=kernel.shared_bytes_per_block,
        registers=kernel.registers_per_thread,
        cores=_cores(kernel),
        flop=_whole(_times(kernel.flop, launches)),
        dram_bytes=_whole(_times(kernel.dram_bytes.total, launches)),
        inputs=tuple(Tensor(array.shape, dtype=array.dtype) for array in kernel.arrays),
        attributes={name: value for name, value in attributes.items() if value},
    )


def _cores(kernel: KernelReport) -> int | None:
    """The SMs that have a block; all of them for a bound that holds for each schedule."""
    if kernel.sm_count is None or not kernel.has_counts:
        return None
    if kernel.schedule == "unscheduled":
        return kernel.sm_count
    return min(math.prod(kernel.grid), kernel.sm_count) if kernel.grid else None


def _description(kernel: KernelReport) -> str:
    sizes = kernel.sizes or kernel.bindings
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _peaks(kernel: KernelReport) -> Peaks:
    """The peaks of which the report has the shares; no FLOP are no part of any peak."""
    flop_per_s = (
        math.inf if kernel.flop == 0 else _quotient(kernel.flop_per_s, kernel.peak_fraction)
    )
    return Peaks(_quotient(kernel.dram_bytes_per_s, kernel.dram_fraction), flop_per_s)


def _quotient(rate: float | None, fraction: float | None) -> float | None:
    return rate / fraction if rate is not None and fraction else None


def _times(value: float | None, count: int) -> float | None:
    return None if value is None else value * count


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
