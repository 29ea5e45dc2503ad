"""l2-reuse: blocks that run at the same time share too little of their input in the L2 cache.

Launched row by row, a wave of blocks reads few tiles of one operand and all of the other.
T.use_swizzle(panel) launches them in panels, nearer to a square, so that each tile read from DRAM
serves more blocks.  The rule tries panels from 2 to 16 where DRAM or L2 bounds the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.changes import Opening

PANELS = (2, 4, 8, 10, 16)


def check(question: Question) -> Iterator[Advice]:
    facts, report = question.facts, question.report
    if facts.framework != "tilelang" or facts.launch.panel or report.bound not in ("dram", "l2"):
        return
    if sum(extent > 1 for extent in report.grid) < 2:
        return

    options = [(question.what_if(rewrite.with_panel(facts, panel)), panel) for panel in PANELS]
    changed, panel = min(
        options, key=lambda it: (it[0].time_s or math.inf, it[0].dram_bytes.total or 0)
    )
    saving_s = question.over(changed)
    if question.is_noticeable(saving_s):
        yield Advice(
            rule="l2-reuse",
            span=facts.span,
            severity="hint",
            message=f"T.use_swizzle({panel}) lets blocks of one wave share tiles in L2",
            saving_s=saving_s,
            change=Opening(facts.span, f"use_swizzle({panel})"),
        )
