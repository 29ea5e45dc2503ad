"""Instructions that take more issue slots than the prediction."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement, times
from tirlens.quantity_text import number

_EXECUTED = ("smsp__inst_executed.sum", "sm__inst_executed.sum")
LEAST_RATIO = 1.3
#: The least share of the measured time that issuing them takes, to be its cause.
LEAST_SHARE = 0.3


def check(question: Question) -> Iterator[Mechanism]:
    """More instructions of a slower kernel than the busy time of its issue slots has room for."""
    executed = question.counter(*_EXECUTED)
    report, device = question.report, question.device
    share = report.utilisation.get("issue")
    if executed is None or share is None or report.time_s is None or not question.is_slower:
        return
    per_s = device.issue_per_clk_per_sm * device.clock_hz * device.sm_count
    predicted = share * report.time_s * per_s
    is_long = executed[1] / per_s >= LEAST_SHARE * question.measured_s
    if predicted and is_long and executed[1] >= LEAST_RATIO * predicted:
        yield Mechanism(
            "instructions",
            f"warp instructions {times(executed[1], predicted)}: {number(executed[1])}, not "
            f"{number(predicted)}",
            executed[1],
            predicted,
            "instructions",
            (executed[0],),
            disagreement(executed[1], predicted),
        )
