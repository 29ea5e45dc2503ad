"""Configurations of a kernel in the order of their predicted times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tirlens.hardware import Device
from tirlens.model.report import Occupancy
from tirlens.tuning.configurations import Arguments


@dataclass(frozen=True)
class Estimate:
    """What is known of one call of a kernel on one device.

    `is_refused` if the framework or the device does not run it, for the `reason`. Where it is not
    refused, a time of None has the `reason` why it is not known. Figures are as in `KernelReport`.
    """

    time_s: float | None = None
    time_band_s: tuple[float, float] | None = None
    confidence: float | None = None
    roofline_time_s: float | None = None
    bound: str | None = None
    is_refused: bool = False
    reason: str = ""
    occupancy: Occupancy | None = None
    shared_bytes_per_block: int | None = None
    registers_per_thread: int | None = None
    spill_bytes: int | None = None
    launch_facts: str = "source"


@dataclass(frozen=True)
class Configuration:
    """A configuration with its estimate: `rank` is 1 for the best, and `call` the whole call."""

    rank: int
    arguments: Arguments
    call: str
    estimate: Estimate


@dataclass(frozen=True)
class Ranking:
    """The configurations of one kernel on one device, the best first.

    Those without a known time follow those with one, and refused ones come last.

    Attributes
    ----------
    kernel
        The name of the kernel.
    call
        The call whose parameters the configurations set.
    assumed
        The arguments of this call that nothing gives, as expressions by name.
    origin
        ``autotune`` (the kernel's own list), ``space`` (the lists of the user) or ``proposed``.
    left_out
        Number of configurations of the kernel's own list that are no Python text.
    """

    kernel: str
    call: str
    device: Device
    configurations: tuple[Configuration, ...]
    duration_s: float
    origin: str
    assumed: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: int = 0

    @property
    def refused(self) -> int:
        """Number of configurations that the framework or the device does not run."""
        return sum(one.estimate.is_refused for one in self.configurations)

    @property
    def timed(self) -> tuple[Configuration, ...]:
        """The configurations with a predicted time."""
        return tuple(one for one in self.configurations if one.estimate.time_s is not None)


class HasEstimate(Protocol):
    """What has an estimate."""

    @property
    def estimate(self) -> Estimate:
        """What is known of it."""
        ...


T = TypeVar("T", bound=HasEstimate)


def order_of(estimate: Estimate) -> tuple[bool, bool, float]:
    """The key by which estimates are sorted: by time, then those without one, then the refused."""
    return estimate.is_refused, estimate.time_s is None, estimate.time_s or 0.0


def in_order(
    found: Sequence[tuple[Arguments, str, Estimate]],
) -> tuple[Configuration, ...]:
    """Configurations, calls and estimates as a ranking; equal times keep their order."""
    return tuple(
        Configuration(rank, arguments, call, estimate)
        for rank, (arguments, call, estimate) in enumerate(
            sorted(found, key=lambda one: order_of(one[2])), 1
        )
    )


def worth_measuring(ranked: Sequence[T], most: int) -> list[T]:
    """What of a ranking, the best first, a measurement has to decide between.

    Of those with a time, the ones whose band begins before that of the best one ends, at most
    `most`. Those without a time that are not refused are always among them: nothing says that they
    are slower. Where none has a time, that is all that are not refused.
    """
    timed = [one for one in ranked if one.estimate.time_s is not None]
    unknown = [one for one in ranked if one.estimate.time_s is None and not one.estimate.is_refused]
    return [*overlapping(timed)[:most], *unknown]


def overlapping(timed: Sequence[T]) -> list[T]:
    """Of several with a time, those whose bands do not tell them from the first, the best one."""
    ends = [one.estimate.time_band_s for one in timed[:1]]
    best = ends[0] if ends else None
    return [
        one
        for one in timed
        if best is None
        or one.estimate.time_band_s is None
        or one.estimate.time_band_s[0] <= best[1]
    ]
