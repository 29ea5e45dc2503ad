"""not-parallel: a CPU kernel runs on one core although its iterations are independent.

What it finds
-------------
An outermost serial loop of a CPU kernel without any parallel loop, where no iteration touches an
element that another iteration writes. Loops further in are left out: they would start the threads
again and again.

Why it costs time
-----------------
TVM runs the iterations of `T.parallel` on the threads of its pool, one a core. A serial loop uses
one core.

Evidence
--------
The saving is the difference between two predictions. Starting the threads takes microseconds that
vary, so the rule reports only savings of at least 20 % of the time and of twice what starting the
threads takes.

How to change it
----------------
Write `T.parallel` in place of `T.serial` or `range`. A code action makes this change.

Example
-------
```diff
 from tvm.script import tirx as T

 N = 4096


 # tirlens: device=x86-avx2
 @T.prim_func(s_tir=True)
 def scale(X: T.Buffer((N, N), "float32"), Y: T.Buffer((N, N), "float32")):
-    for i in T.serial(N):
+    for i in T.parallel(N):
         for j in T.serial(N):
             Y[i, j] = X[i, j] * T.float32(2)
```

Source
------
apache-tvm, `src/runtime/thread_pool.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.independence import is_independent
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.edits import LoopKind
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
        if not loop.sites or not question.can_save(loop) or not is_independent(loop):
            continue
        saving_s = question.saving_s(rewrite.with_kind(facts, loop, "parallel"), loop)
        least_s = max(LEAST * (question.report.time_s or 0.0), WAKINGS * question.device.launch_s)
        if saving_s is not None and saving_s >= least_s:
            yield Advice(
                rule="not-parallel",
                span=loop.sites[0],
                severity="hint",
                action=f"{question.device.sm_count} cores (T.parallel)",
                message=(
                    f"the {to_text(loop.extent)} iterations of {loop.var} are independent: "
                    f"T.parallel runs them on {question.device.sm_count} cores in place of one"
                ),
                saving_s=saving_s,
                change=LoopKind(loop.sites[0], "parallel"),
            )
