"""The measured time of a matched kernel beside its prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tirlens.measured.matching.outcomes import Match

#: Where the measured time is beside the band of the prediction.
BandPosition: TypeAlias = Literal["inside", "above", "below"]

#: From this ratio of the 90th to the 10th percentile on, executions are hardly of one size.
_WIDE_SPREAD = 1.5


@dataclass(frozen=True)
class Residual:
    """One matched kernel.

    Attributes
    ----------
    measured_s
        The time of one execution: the median, or the mean where the trace sums executions.
    predicted_s, band_s, roofline_s
        Those of the model for the device of the trace.
    board
        The name that the device has itself; empty where the trace does not say it.
    notes
        What is doubtful about them.
    """

    match: Match
    device_id: str
    measured_s: float | None
    predicted_s: float | None
    band_s: tuple[float, float] | None
    roofline_s: float | None
    board: str = ""
    notes: tuple[str, ...] = ()

    @property
    def executions(self) -> int:
        """How often it was executed."""
        return self.match.group.executions

    @property
    def ratio(self) -> float | None:
        """Predicted over measured time, the residual."""
        if self.predicted_s is None or not self.measured_s:
            return None
        return self.predicted_s / self.measured_s

    @property
    def in_band(self) -> BandPosition | None:
        """Whether the measured time is in the band of the prediction."""
        return band_position(self.measured_s, self.band_s)


def band_position(
    measured_s: float | None, band_s: tuple[float, float] | None
) -> BandPosition | None:
    """Where a measured time is beside a band; None where one of them is not known."""
    if measured_s is None or band_s is None:
        return None
    low, high = band_s
    return "below" if measured_s < low else "above" if measured_s > high else "inside"


def residual_of(match: Match, board: str = "") -> Residual:
    """The measured time of a match on a `board` beside the figures of its launch."""
    time, launch = match.group.time, match.launch
    measured_s = time.median if time.median is not None else time.mean
    notes: list[str] = []
    low, high = time.quantile(0.1), time.quantile(0.9)
    if low and high and high > _WIDE_SPREAD * low:
        notes.append(f"its times differ by a factor of {high / low:.1f}: perhaps of several sizes")
    if measured_s and launch.roofline_time_s and measured_s < launch.roofline_time_s:
        notes.append("faster than the roofline: its data were in L2, or it is another size")
    return Residual(
        match,
        match.candidate.report.device_id,
        measured_s,
        launch.time_s,
        launch.time_band_s,
        launch.roofline_time_s,
        board,
        tuple(notes),
    )


@dataclass(frozen=True)
class StepResidual:
    """The sums over the matched kernels of a trace, each times its executions.

    A sum is over the kernels of which it is known; `is_whole` where that is all of them.
    """

    measured_s: float
    predicted_s: float
    roofline_s: float
    is_whole: bool


def sum_residuals(residuals: Sequence[Residual]) -> StepResidual | None:
    """The sums of kernels whose times are all known; None without one."""
    known = [
        (one.match.group.time.total, one.predicted_s, one.roofline_s, one.match.group.time.count)
        for one in residuals
        if one.measured_s is not None and one.predicted_s is not None
    ]
    if not known:
        return None
    return StepResidual(
        sum(measured_s for measured_s, _, _, _ in known),
        sum(predicted_s * count for _, predicted_s, _, count in known),
        sum((roofline_s or 0.0) * count for _, _, roofline_s, count in known),
        len(known) == len(residuals),
    )
