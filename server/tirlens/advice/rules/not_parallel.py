"""not-parallel: a CPU kernel runs on one core though its iterations are independent.

TVM runs the iterations of ``T.parallel`` on the threads of its pool, one a core.  The rule asks
what the kernel would take with its outermost loop one, which it can be where no iteration touches
what another one writes.  A loop further in would start the threads again and again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.independence import is_independent
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.changes import LoopKind
from tirlens_counting.expressions import to_text
from tirlens_worker.facts import Loop

#: Waking the threads takes microseconds that vary: a gain of a smaller part of the time, or of less
#: than so many times what waking them takes, is not sure to be one.
LEAST = 0.2
WAKINGS = 2.0


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    if question.device.kind != "cpu" or question.device.sm_count < 2:
        return
    if any(loop.kind == "parallel" for loop, _ in rewrite.loops(facts)):
        return
    for loop in facts.body:
        if not isinstance(loop, Loop) or loop.kind != "serial" or loop.extent == 1:
            continue
        if not loop.sites or not is_independent(loop):
            continue
        saving_s = question.saving_s(rewrite.with_kind(facts, loop, "parallel"))
        least_s = max(LEAST * (question.report.time_s or 0.0), WAKINGS * question.device.launch_s)
        if saving_s is not None and saving_s >= least_s:
            yield Advice(
                rule="not-parallel",
                span=loop.sites[0],
                severity="hint",
                message=(
                    f"the {to_text(loop.extent)} iterations of {loop.var} are independent: "
                    f"T.parallel runs them on {question.device.sm_count} cores in place of one"
                ),
                saving_s=saving_s,
                change=LoopKind(loop.sites[0], "parallel"),
            )
