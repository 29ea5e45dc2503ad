"""partial-warp: the threads of a block do not fill its last warp, whose other lanes idle.

Warps are issued whole (CUDA C++ Programming Guide, "SIMT Architecture").
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    threads, warp = question.report.threads_per_block, question.device.limits.warp_size
    if question.device.kind == "gpu" and threads is not None and threads % warp:
        yield Advice(
            rule="partial-warp",
            span=question.facts.span,
            severity="hint",
            message=(
                f"{threads} threads are no multiple of the warp of {warp}: "
                f"{-threads % warp} lanes of the last warp idle"
            ),
        )
