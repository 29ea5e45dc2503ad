"""threads: more threads would hold the block's tiles, or keep the matrix units busy.

The fragments of a tilelang block are divided among its threads.  With too few threads they take
more registers than a thread can have and spill.  On Hopper a block of one warpgroup beside the
producer waits for each of its own products; two take turns (tilelang products of 128x128x64 reach
about half of an H200's peak with one, and three quarters with two: `tests/measured`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model import SPILLS
from tirlens.model.report import Advice
from tirlens.source.changes import Threads
from tirlens_worker.facts import KernelFacts

WARPGROUP = 128


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if facts.framework != "tilelang" or loop is None or not isinstance(loop.extent, int):
        return
    spills = any(caveat.message == SPILLS for caveat in question.report.caveats)
    alone = loop.extent == WARPGROUP and "wgmma" in question.device.features and _multiplies(facts)
    if not (spills or alone):
        return
    most = question.device.limits.threads_per_block
    options = [
        (saving_s, -threads)
        for threads in ((2 * loop.extent, 4 * loop.extent) if spills else (2 * loop.extent,))
        if threads <= most
        and (changed := rewrite.with_threads(facts, threads)) is not None
        and (saving_s := question.saving_s(changed)) is not None
    ]
    saving_s, threads = max(options, default=(None, 0))
    if question.is_noticeable(saving_s):
        reason = (
            f"the fragments do not fit into the registers of {loop.extent} threads"
            if spills
            else "one warpgroup waits for each of its own products"
        )
        span = loop.sites[0] if loop.sites else facts.span
        yield Advice(
            rule="threads",
            span=span,
            severity="hint",
            message=f"{reason}: threads={-threads} in place of {loop.extent}",
            saving_s=saving_s,
            change=Threads(span, -threads),
        )


def _multiplies(facts: KernelFacts) -> bool:
    return any(item.op == "mma" for one, _ in rewrite.statements(facts) for item in one.arith)
