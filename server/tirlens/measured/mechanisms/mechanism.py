"""What is asked of a mechanism, and its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware import Device
from tirlens.model.report import KernelReport


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with its evidence.

    Attributes
    ----------
    name
        ``dram-bytes``, ``registers``, ``clock``: what disagrees.
    text
        The evidence in a sentence, with the figures of both sides.
    measured, predicted
        The figures, in `unit`; `predicted` is None where the model does not predict it.
    counters
        The counters of the trace that it is from.
    weight
        The logarithm of the ratio of the figures, at least 0: how much they disagree.
    """

    name: str
    text: str
    measured: float
    predicted: float | None
    unit: str
    counters: tuple[str, ...] = ()
    weight: float = 0.0


@dataclass(frozen=True)
class Question:
    """A measured kernel beside its prediction.

    Attributes
    ----------
    measured_s
        The time of one execution.
    report
        The prediction for the device of the trace.
    device
        This device.
    counters
        Hardware counters of one execution, by the names of Nsight Compute, in SI base units;
        percentages are from 0 to 100.
    grid, threads, shared_bytes, registers
        The launch, where the trace has it.
    kernel_time_s
        The time of the kernel alone, where it was read apart from `measured_s`.
    counters_are_of_timed_run
        Whether the counters were read in the run that was timed, at its clocks.
    """

    measured_s: float
    report: KernelReport
    device: Device
    counters: Mapping[str, float]
    grid: tuple[int, int, int] | None = None
    threads: int | None = None
    shared_bytes: int | None = None
    registers: int | None = None
    kernel_time_s: float | None = None
    counters_are_of_timed_run: bool = True

    @property
    def is_in_band(self) -> bool | None:
        """Whether the measured time is in the band; None without one."""
        band = self.report.time_band_s
        return None if band is None else band[0] <= self.measured_s <= band[1]

    @property
    def is_slower(self) -> bool:
        """Whether it takes longer than predicted."""
        return self.measured_s > (self.report.time_s or 0.0)

    def counter(self, *names: str) -> tuple[str, float] | None:
        """The first of these counters that the trace has, with its name."""
        for name in names:
            value = self.counters.get(name)
            if value is not None and math.isfinite(value) and value >= 0:
                return name, value
        return None

    def sum_counters(self, *names: str) -> float | None:
        """The sum of these counters, None if the trace lacks one."""
        values = [self.counter(name) for name in names]
        known = [value[1] for value in values if value is not None]
        return math.fsum(known) if len(known) == len(names) else None


def disagreement(measured: float, predicted: float) -> float:
    """The absolute logarithm of the ratio of two figures; 0 where one is 0."""
    return abs(math.log(measured / predicted)) if measured > 0 and predicted > 0 else 0.0


def times(measured: float, predicted: float) -> str:
    """``1.9x the prediction``."""
    ratio = measured / predicted
    return f"{ratio:.2g}x the prediction" if ratio < 10 else f"{ratio:.0f}x the prediction"
