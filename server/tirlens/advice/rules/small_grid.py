"""small-grid: fewer blocks than SMs, so part of the device has nothing to do.

The saving is what the same work would gain if it were spread over all SMs: the share of the idle
ones, of the time that is not launch overhead (NVIDIA, CUDA C++ Best Practices Guide, "Occupancy").
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    report, device = question.report, question.device
    if device.kind != "gpu" or report.schedule != "gpu" or report.time_s is None:
        return
    blocks = math.prod(report.grid) if report.grid else 0
    if not 0 < blocks < device.sm_count:
        return
    busy_s = max(0.0, report.time_s - device.launch_s)
    saving_s = busy_s * (1 - blocks / device.sm_count)
    if question.is_noticeable(saving_s):
        yield Advice(
            rule="small-grid",
            span=question.facts.span,
            severity="hint",
            message=(
                f"{blocks} blocks leave {device.sm_count - blocks} of {device.sm_count} SMs idle: "
                "use smaller tiles, or split the reduction (split-K)"
            ),
            saving_s=saving_s,
        )
