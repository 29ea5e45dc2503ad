"""launch-bound: the kernel takes about as long to start as to run.

Nothing inside the kernel helps then; fusing it with its neighbours or replaying a CUDA graph does.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice

#: A kernel that takes less than this many launches is bound by its own.
LAUNCHES = 2


def check(question: Question) -> Iterator[Advice]:
    time_s, launch_s = question.report.time_s, question.device.launch_s
    if question.report.schedule == "gpu" and time_s is not None and time_s < LAUNCHES * launch_s:
        yield Advice(
            rule="launch-bound",
            span=question.facts.span,
            severity="info",
            message=(
                f"{min(launch_s / time_s, 1.0):.0%} of the time is the launch itself: "
                "fuse the kernel with its neighbours, or replay it from a CUDA graph"
            ),
        )
