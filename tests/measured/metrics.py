"""How far predictions are from measurements.  Plain functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

TIE = 0.02  # measured times nearer than this have no order


@dataclass(frozen=True)
class Errors:
    """Of the relative errors |predicted / measured - 1|: their mean, median and 90th percentile.

    `spread` is exp(mean |ln(predicted / measured)|), 1 for a perfect model and the same for half
    and double; `bias` is the geometric mean of predicted / measured.
    """

    number: int
    mape: float
    median: float
    p90: float
    spread: float
    bias: float


def errors(predicted: Sequence[float], measured: Sequence[float]) -> Errors | None:
    """None for no pairs at all."""
    pairs = list(zip(predicted, measured, strict=True))
    if not pairs:
        return None
    relative = sorted(abs(p / m - 1) for p, m in pairs)
    logs = [math.log(p / m) for p, m in pairs]
    return Errors(
        number=len(pairs),
        mape=mean(relative),
        median=median(relative),
        p90=relative[min(len(relative) - 1, math.ceil(0.9 * len(relative)) - 1)],
        spread=math.exp(mean(map(abs, logs))),
        bias=math.exp(mean(logs)),
    )


def ordered_pairs(predicted: Sequence[float], measured: Sequence[float]) -> tuple[int, int]:
    """Pairs in the right order less those in the wrong one, and all pairs.

    Counted are those whose measured times differ by more than 2 %.
    """
    agree = pairs = 0
    for i, (p, m) in enumerate(zip(predicted, measured, strict=True)):
        for other_p, other_m in zip(predicted[:i], measured[:i], strict=True):
            if abs(m / other_m - 1) < TIE:
                continue
            pairs += 1
            if p != other_p:
                agree += 1 if (m > other_m) == (p > other_p) else -1
    return agree, pairs


def kendall_tau(predicted: Sequence[float], measured: Sequence[float]) -> float | None:
    """Rank correlation over the pairs whose measured times differ by more than 2 %."""
    agree, pairs = ordered_pairs(predicted, measured)
    return agree / pairs if pairs else None


def top_one(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """Best measured time over that of the candidate with the best predicted time, at most 1.

    Of candidates that are predicted alike the worst counts.
    """
    best = min(predicted)
    chosen = max(m for p, m in zip(predicted, measured, strict=True) if p <= best)
    return min(measured) / chosen
