"""uncoalesced: neighbouring threads access elements of global memory that are far apart.

What it finds
-------------
An array of global memory in which neighbouring threads go along a dimension other than the last, or
by a stride of several elements.

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
from tirlens_counting.expressions import UnknownValueError, evaluate, free_variables
from tirlens_worker.facts import Access, Buffer, Expr, KernelFacts, Span, Statement


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
            known = buffer.id in done or buffer.scope != "global" or buffer.strides
            if known or buffer.alias_of is not None:
                continue
            changed, distance = _with_thread_last(facts, access, buffer, loop.var)
            if changed is None:
                continue
            done.add(buffer.id)
            saving_s = question.saving_s(changed)
            if question.is_noticeable(saving_s):
                yield Advice(
                    rule="uncoalesced",
                    span=_site(statement, facts.span),
                    severity="hint",
                    action=f"coalesced accesses to {buffer.name}",
                    message=(
                        f"threadIdx.x runs along {distance} of {buffer.name}, not along "
                        "the last: let it, or store the array transposed"
                    ),
                    saving_s=saving_s,
                )


def _with_thread_last(
    facts: KernelFacts, access: Access, buffer: Buffer, thread: str
) -> tuple[KernelFacts | None, str]:
    """The facts with the dimension of the threads last, and that dimension in words."""
    place = _dimension(access, thread)
    if place is not None:
        order = [n for n in range(len(buffer.shape)) if n != place] + [place]
        return rewrite.with_order(facts, buffer, order), f"dimension {place}"
    stride = _flat_stride(access, thread)
    split = None if stride is None else rewrite.with_rows(facts, buffer, stride)
    if split is None:
        return None, ""
    rows = next(other for other in split.buffers if other.id == buffer.id)
    return rewrite.with_order(split, rows, (1, 0)), f"rows of {stride} elements"


def _is_uncoalesced(cost: BreakdownEntry) -> bool:
    return any(name == "coalescing" for name, _ in cost.details) or any(
        map(_is_uncoalesced, cost.children)
    )


def _dimension(access: Access, thread: str) -> int | None:
    """The dimension along which neighbouring threads go, where that is another than the last."""
    if access.route != "thread" or access.extents or access.lanes != 1:
        return None
    moving = [n for n, index in enumerate(access.indices) if _step(index, thread)]
    return moving[0] if len(moving) == 1 and moving[0] != len(access.indices) - 1 else None


def _flat_stride(access: Access, thread: str) -> int | None:
    """The distance in elements of neighbouring threads in an array of one dimension."""
    if access.route != "thread" or access.extents or access.lanes != 1 or len(access.indices) != 1:
        return None
    step = _step(access.indices[0], thread)
    return step if step > 1 else None


def _step(index: Expr, thread: str) -> int:
    """How far an index moves from the first thread to the second; 0 where that is not known."""
    names = free_variables(index)
    if thread not in names:
        return 0
    first = dict.fromkeys(names, 0)
    try:
        return int(evaluate(index, {**first, thread: 1})) - int(evaluate(index, first))
    except (UnknownValueError, ZeroDivisionError, ValueError, TypeError):
        return 0


def _site(statement: Statement, otherwise: Span) -> Span:
    return statement.sites[0] if statement.sites else otherwise
