"""Time beside the kernel that the timing has in it: launches, and gaps between them."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement
from tirlens.quantity_text import seconds

#: A timing that exceeds the time of the kernel by less has no overhead.
LEAST_RATIO = 1.2


def check(question: Question) -> Iterator[Mechanism]:
    """A timing above the kernel's own time, which the band does contain or is nearer to."""
    kernel_s, predicted_s = question.kernel_time_s, question.report.time_s
    if kernel_s is None or predicted_s is None or not kernel_s or not question.is_slower:
        return
    if question.measured_s < LEAST_RATIO * kernel_s:
        return
    yield Mechanism(
        "timing-overhead",
        f"{seconds(question.measured_s)} as timed, {seconds(kernel_s)} of the kernel "
        f"alone: {seconds(question.measured_s - kernel_s)} are launches and gaps",
        question.measured_s,
        kernel_s,
        "s",
        (),
        disagreement(question.measured_s, kernel_s),
    )
