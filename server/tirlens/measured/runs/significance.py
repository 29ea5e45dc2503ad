"""Whether a time differs from an earlier one by more than the spread of both.

Sources: B. L. Welch, Biometrika 34 (1947), for the test of two means with unequal deviations;
Georges, Buytaert, Eeckhout, OOPSLA 2007, and Kalibera, Jones, ISMM 2013, for runs as the unit that
repeats: executions of one run have its clocks and its placement in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tirlens.measured.spread import Spread

SpreadSource = Literal["runs", "executions", "percentiles", "extremes"]

#: The probability that a growth by chance alone is taken for one, for each operation.
CHANCE = 0.01

#: A smaller part of the time is not known to differ where each side is one run: many executions
#: make their own spread arbitrarily small, and not that from one run to the next.
LEAST_BETWEEN_RUNS = 0.01

#: Between the 10th and the 90th percentile of a normal distribution, in deviations.
_DEVIATIONS_P10_TO_P90 = 2.5631


@dataclass(frozen=True)
class Sample:
    """Times of one operation.

    Attributes
    ----------
    count
        The values whose mean it is: runs or executions.
    mean_s
        The mean of one execution.
    deviation_s
        The standard deviation of the values; None where the trace has one value, or a sum only.
    source
        What the deviation is of: ``runs``, the means of several runs; ``executions`` of one run;
        ``percentiles``, the distance of the 10th and the 90th as of a normal distribution;
        ``extremes``, half the distance of the shortest and the longest, which no deviation
        exceeds (Popoviciu 1935).
    """

    count: int
    mean_s: float
    deviation_s: float | None = None
    source: SpreadSource | None = None


def sample_of_percentiles(median_s: float, p10_s: float, p90_s: float, count: int) -> Sample:
    """The sample of `count` executions of which the percentiles are known, in s."""
    deviation_s = max(p90_s - p10_s, 0.0) / _DEVIATIONS_P10_TO_P90
    return Sample(count, median_s, deviation_s, "percentiles")


def sample_of_executions(times: Spread) -> Sample | None:
    """The sample of the executions of one run; None without any."""
    if times.mean is None:
        return None
    if times.deviation is not None:
        return Sample(times.count, times.mean, times.deviation, "executions")
    shortest, longest = times.minimum, times.maximum
    if times.count > 1 and shortest is not None and longest is not None:
        return Sample(times.count, times.mean, (longest - shortest) / 2, "extremes")
    return Sample(times.count, times.mean)


def sample_of_runs(runs: Sequence[Sample]) -> Sample | None:
    """The sample of the means of several runs; that of one run itself; None without any."""
    if len(runs) < 2:
        return runs[0] if runs else None
    mean_s = math.fsum(run.mean_s for run in runs) / len(runs)
    squares = math.fsum((run.mean_s - mean_s) ** 2 for run in runs)
    return Sample(len(runs), mean_s, math.sqrt(squares / (len(runs) - 1)), "runs")


def probability_of_chance(before: Sample, now: Sample) -> float | None:
    """The probability of a difference of the means like this one or greater, if there is none.

    One-sided, by the direction of the difference.  Welch's test, where both deviations are known.
    Where one side has several runs and the other one has one, the one-run mean is compared with
    the prediction interval of the runs.  None where the spread of a side is not known.
    """
    difference_s = abs(now.mean_s - before.mean_s)
    alone = _alone_with_runs(before, now)
    if alone is not None:
        runs = alone
        assert runs.deviation_s is not None
        error_s = runs.deviation_s * math.sqrt(1 + 1 / runs.count)
        degrees = runs.count - 1.0
    else:
        if before.deviation_s is None or now.deviation_s is None:
            return None
        parts = (before.deviation_s**2 / before.count, now.deviation_s**2 / now.count)
        error_s = math.sqrt(sum(parts))
        degrees = _degrees_of_freedom(parts, (before.count, now.count))
    if not difference_s:
        return 0.5
    if not error_s:
        return 0.0
    return student_t_tail(difference_s / error_s, degrees)


def is_beyond_spread(before: Sample, now: Sample) -> bool | None:
    """Whether chance explains the difference with a probability of less than `CHANCE`.

    Without several runs on a side it must also be `LEAST_BETWEEN_RUNS`.  None where the spread of
    a side is not known.
    """
    probability = probability_of_chance(before, now)
    if probability is None:
        return None
    is_of_runs = "runs" in (before.source, now.source)
    if not is_of_runs and abs(now.mean_s - before.mean_s) < LEAST_BETWEEN_RUNS * before.mean_s:
        return False
    return probability < CHANCE


def _alone_with_runs(before: Sample, now: Sample) -> Sample | None:
    """The side that has several runs, where the other one has one run."""
    sides = [side for side in (before, now) if side.source == "runs"]
    return sides[0] if len(sides) == 1 else None


def _degrees_of_freedom(parts: Sequence[float], counts: Sequence[int]) -> float:
    """Of Welch and Satterthwaite; at least those of the smaller side."""
    below = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    least = min(counts) - 1.0
    return max(sum(parts) ** 2 / below, least) if below else least


def student_t_tail(t: float, degrees: float) -> float:
    """The probability that Student's t of `degrees` of freedom exceeds `t`, which is at least 0.

    Source: NIST Digital Library of Mathematical Functions, 8.17 (the regularised incomplete beta
    function).
    """
    return 0.5 * _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        # Where the continued fraction converges quickly (DLMF 8.17.4).
        return 1 - _incomplete_beta(1 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log1p(-x)) / a
    return front / _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of DLMF 8.17.22, by Lentz's method (Applied Optics 15, 1976)."""
    tiny = 1e-300
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(1, 400):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / (1 + term * lower or tiny)
        upper = 1 + term / upper or tiny
        change = upper * lower
        value *= change
        if abs(change - 1) < 1e-14:
            break
    return value
