"""What a report takes from the model of any kind of device: GPU, CPU, or the roofline alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..report import CaveatNote, Launch, MemoryTraffic
from ..tree.timed_kernel import TimedKernel
from .bound import KernelBound


@dataclass(frozen=True)
class TimeShares:
    """The parts of the time of a kernel.

    Attributes
    ----------
    time_s
        The time in seconds.
    utilisation
        The busy time of each unit over it.
    launch, tail
        The launch and the tail over it.
    """

    time_s: float
    utilisation: Mapping[str, float]
    launch: float
    tail: float


@dataclass(frozen=True)
class Judgement:
    """What bounds a kernel, and how uncertain its time is.

    Attributes
    ----------
    bound
        The bound with its class and reason.
    uncertainty
        The parts of the logarithm of the time, by name.
    band_s
        The time band in seconds; None for a lower bound.
    """

    bound: KernelBound
    uncertainty: Mapping[str, float]
    band_s: tuple[float, float] | None


@dataclass(frozen=True)
class Modelled:
    """A kernel on a device, as its report needs it.

    Attributes
    ----------
    kernel
        Its time and the tables of its statements.
    traffic
        The bytes that it moves.
    roofline_time_s
        The time that it cannot go below; None where nothing is known of it.
    launch
        Its launch, with the share of the tail still open.
    judge
        The bound and the uncertainty of a time.
    refusal
        The reason why the device cannot run it; None if it can.
    notes
        What the stages assume or could not find.
    math_fidelity
        That of its matrix products, on a device that has several.
    """

    kernel: TimedKernel
    traffic: MemoryTraffic
    roofline_time_s: float | None
    launch: Launch
    judge: Callable[[TimeShares], Judgement]
    refusal: str | None
    notes: tuple[CaveatNote, ...]
    math_fidelity: str | None
