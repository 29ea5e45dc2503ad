"""uncoalesced: neighbouring threads access elements of global memory that are far apart.

What it finds
-------------
An array of global memory whose accesses have `threadIdx.x` in a dimension other than the last.

Why it costs time
-----------------
A request of a warp moves whole sectors of 32 bytes. Threads that are far apart in memory need a
sector each, of which the request uses a few bytes.

Evidence
--------
The hover of the access has a row "coalescing": the bytes moved for each byte asked for. The saving
is the difference between two predictions: the second stores the array with the dimension of
`threadIdx.x` last.

How to change it
----------------
Let `threadIdx.x` run along the last dimension of the array, store the array transposed, or load a
tile through shared memory.

Example
-------
```diff
 from tvm.script import tirx as T

 ROWS = 524288


 # tirlens: device=h100-sxm
 @T.prim_func(s_tir=True)
-def row_sum(x: T.Buffer((ROWS, 512), "float32"), out: T.Buffer((ROWS,), "float32")):
+def row_sum(x: T.Buffer((512, ROWS), "float32"), out: T.Buffer((ROWS,), "float32")):
     for b in T.thread_binding(ROWS // 256, thread="blockIdx.x"):
         for t in T.thread_binding(256, thread="threadIdx.x"):
             out[b * 256 + t] = T.float32(0)
             for k in range(512):
-                out[b * 256 + t] = out[b * 256 + t] + x[b * 256 + t, k]
+                out[b * 256 + t] = out[b * 256 + t] + x[k, b * 256 + t]
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice, BreakdownEntry
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access, Span, Statement


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if loop is None or not any(map(_is_uncoalesced, question.report.loops)):
        return
    buffers = {buffer.id: buffer for buffer in facts.buffers}
    done: set[str] = set()
    for statement, _ in rewrite.statements(facts):
        for access in statement.accesses:
            buffer = buffers[access.buffer]
            place = _dimension(access, loop.var)
            known = buffer.id in done or buffer.scope != "global" or buffer.strides
            if place is None or known or buffer.alias_of is not None:
                continue
            done.add(buffer.id)
            order = [n for n in range(len(buffer.shape)) if n != place] + [place]
            saving_s = question.saving_s(rewrite.with_order(facts, buffer, order))
            if question.is_noticeable(saving_s):
                yield Advice(
                    rule="uncoalesced",
                    span=_site(statement, facts.span),
                    severity="hint",
                    action=f"coalesced accesses to {buffer.name}",
                    message=(
                        f"threadIdx.x runs along dimension {place} of {buffer.name}, not along "
                        "the last: let it, or store the array transposed"
                    ),
                    saving_s=saving_s,
                )


def _is_uncoalesced(cost: BreakdownEntry) -> bool:
    return any(name == "coalescing" for name, _ in cost.details) or any(
        map(_is_uncoalesced, cost.children)
    )


def _dimension(access: Access, thread: str) -> int | None:
    """The dimension along which the threads go, where that is another than the last."""
    if access.route != "thread" or access.extents or access.lanes != 1:
        return None
    moving = [n for n, index in enumerate(access.indices) if thread in free_variables(index)]
    return moving[0] if len(moving) == 1 and moving[0] != len(access.indices) - 1 else None


def _site(statement: Statement, otherwise: Span) -> Span:
    return statement.sites[0] if statement.sites else otherwise
