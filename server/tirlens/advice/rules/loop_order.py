"""loop-order: the innermost loop of a CPU kernel moves from cache line to cache line.

What it finds
-------------
A nest of serial loops around one statement whose loops can be exchanged, and whose innermost loop
does not run along the last dimension of an array.

Why it costs time
-----------------
A core loads whole cache lines and computes with vectors of neighbouring elements. A loop that steps
from line to line uses one element of each, and the compiler cannot vectorise it. A sum over the
innermost loop is also a chain of additions, each of which waits for the one before.

Evidence
--------
The breakdown shows the loop bound by a cache, `tlb` or `latency`. The saving is the difference
between two predictions. The rule puts each loop innermost that moves from element to element of an
array, with the `T.init` of a reduction in loops of its own, and reports the best order.

How to change it
----------------
Write the loops in the order of the message. A reduction needs its initial value stored in loops of
its own, before the others.

Example
-------
```diff
 from tvm.script import tirx as T

 N = 512


 # tirlens: device=x86-avx2
 @T.prim_func(s_tir=True)
 def matmul(
     A: T.Buffer((N, N), "float32"), B: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")
 ):
     for i in T.serial(N):
-        for j in T.serial(N):
-            for k in T.serial(N):
+        for k in T.serial(N):
+            for j in T.serial(N):
                 C[i, j] = C[i, j] + A[i, k] * B[k, j]
```

Source
------
K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3),
2008.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.independence import Nest, nests, with_innermost
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_counting.expressions import linear
from tirlens_worker.facts import Loop


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "cpu":
        return
    for nest in nests(question.facts):
        outer = nest.loops[0]
        if not outer.sites:
            continue
        options = [
            (saving_s, -place)
            for place, loop in enumerate(nest.loops[:-1])
            if _is_contiguous_along(nest, loop)
            and (saving_s := question.saving_s(with_innermost(question.facts, nest, place)))
            is not None
        ]
        saving_s, place = max(options, default=(None, 0))
        if question.is_noticeable(saving_s):
            inner = nest.loops[-place].var
            order = [loop.var for loop in nest.loops if loop.var != inner]
            apart = ", T.init in loops of its own" if nest.init is not None else ""
            yield Advice(
                rule="loop-order",
                span=outer.sites[0],
                severity="hint",
                action=f"loops with {inner} innermost",
                message=(
                    f"with {inner} innermost, accesses run along rows: "
                    f"write the loops in the order {', '.join((*order, inner))}{apart}"
                ),
                saving_s=saving_s,
            )


def _is_contiguous_along(nest: Nest, loop: Loop) -> bool:
    """Whether some array's elements are taken one after the other along `loop`."""
    return any(
        linear(access.indices[-1])[0].get(loop.var) == 1
        for access in nest.statement.accesses
        if access.indices
    )
