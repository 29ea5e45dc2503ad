"""stages: a pipelined loop keeps too few tiles under way, or so many that blocks do not fit.

Each stage is one more copy of the loop's shared buffers.  More of them hide more of the latency of
the loads; fewer leave room for another block on the SM.  The rule tries 2 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.changes import LoopKind

STAGES = range(2, 6)


def check(question: Question) -> Iterator[Advice]:
    if question.facts.framework != "tilelang":
        return
    for loop, _ in rewrite.loops(question.facts):
        now = loop.annotations.get("num_stages", 0)
        if loop.kind != "pipelined" or now < 2 or not loop.sites:
            continue
        options = [
            (saving_s, -stages)
            for stages in STAGES
            if stages != now
            and (saving_s := question.saving_s(rewrite.with_stages(question.facts, loop, stages)))
            is not None
        ]
        saving_s, stages = max(options, default=(None, 0))
        if question.is_noticeable(saving_s):
            reason = "hides more of the loads' latency" if -stages > now else "leaves more room"
            yield Advice(
                rule="stages",
                span=loop.sites[0],
                severity="hint",
                message=f"num_stages={-stages} in place of {now} {reason}",
                saving_s=saving_s,
                change=LoopKind(loop.sites[0], "Pipelined", -stages),
            )
