"""threads: twice the threads would hold the block's tiles, or keep the matrix units busy.

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

WARPGROUP = 128


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if facts.framework != "tilelang" or loop is None or not isinstance(loop.extent, int):
        return
    spills = any(caveat.message == SPILLS for caveat in question.report.caveats)
    alone = loop.extent == WARPGROUP and "wgmma" in question.device.features
    threads = 2 * loop.extent
    if not (spills or alone) or threads > question.device.limits.threads_per_block:
        return
    changed = rewrite.with_threads(facts, threads)
    saving_s = question.saving_s(changed) if changed is not None else None
    if question.is_noticeable(saving_s):
        reason = (
            f"the fragments do not fit into the registers of {loop.extent} threads"
            if spills
            else "one warpgroup waits for each of its own products"
        )
        yield Advice(
            rule="threads",
            span=loop.sites[0] if loop.sites else facts.span,
            severity="hint",
            message=f"{reason}: threads={threads}",
            saving_s=saving_s,
        )
