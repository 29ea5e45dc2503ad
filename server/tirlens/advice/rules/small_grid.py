"""small-grid: fewer blocks than SMs, so part of the device has nothing to do.

Where the kernel is one product, the rule asks what it would take with its reduction split among
blocks that add their parts with atomics (split-K), less a launch that clears the result before.
Elsewhere the saving is what the same work would gain if it were spread over all SMs: the share of
the idle ones, of the time that is not launch overhead (NVIDIA, CUDA C++ Best Practices Guide,
"Occupancy").  A kernel that takes little longer than its launch has too little work to spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice import splitting
from tirlens.advice.rule import Question
from tirlens.advice.rules.launch_bound import LAUNCHES
from tirlens.model.report import Advice
from tirlens_worker.facts import Loop

#: Into how many parts a reduction is split.
PARTS = (2, 4, 8, 16, 32)


def check(question: Question) -> Iterator[Advice]:
    report, device = question.report, question.device
    if device.kind != "gpu" or report.schedule != "gpu" or report.time_s is None:
        return
    blocks = math.prod(report.grid) if report.grid else 0
    if not 0 < blocks < device.sm_count or report.time_s < LAUNCHES * device.launch_s:
        return
    loop = splitting.reduction(question.facts)
    if loop is None:
        busy_s = max(0.0, report.time_s - device.launch_s)
        saving_s = busy_s * (1 - blocks / device.sm_count)
        change = "smaller tiles, or less work a block, give each SM some"
    else:
        saving_s, parts = _split(question, loop, blocks)
        change = (
            f"split the loop over {loop.var} among {parts} blocks that add up with T.atomic_add "
            "(split-K)"
        )
    if question.is_noticeable(saving_s):
        yield Advice(
            rule="small-grid",
            span=question.facts.span,
            severity="hint",
            message=(
                f"{blocks} blocks leave {device.sm_count - blocks} of {device.sm_count} SMs idle: "
                f"{change}"
            ),
            saving_s=saving_s,
        )


def _split(question: Question, loop: Loop, blocks: int) -> tuple[float | None, int]:
    """What the best split saves, and its parts; no more are tried than fill all SMs twice."""
    options = [
        (saving_s - question.device.launch_s, -parts)
        for parts in PARTS
        if blocks * parts <= 2 * question.device.sm_count
        and (changed := splitting.with_parts(question.facts, loop, parts)) is not None
        and (saving_s := question.saving_s(changed)) is not None
    ]
    saving_s, parts = max(options, default=(None, 0))
    return saving_s, -parts
