"""not-vectorized: each thread moves one narrow element instead of a vector of 16 bytes.

What it finds
-------------
A kernel for a GPU whose neighbouring threads access neighbouring elements, one element a thread, or
whose threads take neighbouring elements one by one in a sequential loop.
tilelang vectorises its copies and parallel loops itself, so that of its kernels only those are
concerned that index by the thread.

Why it costs time
-----------------
A load or store instruction moves up to 16 bytes a thread. With narrower accesses the same bytes
take more instructions, and more threads are needed to keep as many bytes in flight.

Evidence
--------
The saving is the difference between two predictions. The rule tries the vector that fills 16 bytes,
then halves its width, each with fewer threads and with fewer blocks, and reports the best. A
sequential loop over neighbouring elements is evaluated as a loop over vectors.

How to change it
----------------
Let each thread process as many neighbouring elements as the message says, in a `T.vectorized` loop,
with as many times fewer threads or blocks. In tilelang, a `T.Parallel` loop over the elements of a
block in place of the index by the thread is vectorised by itself.

Example
-------
```diff
 from tvm.script import tirx as T

 N = 1 << 22


 # tirlens: device=h100-sxm
 @T.prim_func(s_tir=True)
 def scale(x: T.Buffer((N,), "float16"), y: T.Buffer((N,), "float16")):
-    for b in T.thread_binding(N // 256, thread="blockIdx.x"):
+    for b in T.thread_binding(N // 2048, thread="blockIdx.x"):
         for t in T.thread_binding(256, thread="threadIdx.x"):
-            y[b * 256 + t] = x[b * 256 + t] * T.float16(2)
+            for v in T.vectorized(8):
+                y[b * 2048 + t * 8 + v] = x[b * 2048 + t * 8 + v] * T.float16(2)
```

Source
------
J. Luitjens, NVIDIA, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.advice.vector_loops import VECTOR_BYTES, VectorLoop, vector_loops
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens.model.dtypes import byte_count
from tirlens.model.report import Advice
from tirlens.source.edits import LoopKind
from tirlens_counting.expressions import free_variables, operators
from tirlens_worker.facts import Branch, KernelFacts, Loop

#: The operators of a condition that is a bound of the elements.
_BOUND_OPERATORS = frozenset({"+", "-", "*", "<", "<=", ">", ">=", "and"})
#: What there is less of where each thread moves a vector.
_REWRITES = {"threads": rewrite.with_vectors, "blocks": rewrite.with_wide_blocks}


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if loop is None or question.device.kind != "gpu":
        return
    for one in vector_loops(facts):
        saving_s = question.saving_s(one.facts, one.loop)
        if question.can_save(one.loop) and question.is_noticeable(saving_s):
            yield _advice_of_loop(one, saving_s, facts)
            return
    if not _has_elements_of_threads(facts, loop):
        return
    touched = {access.buffer for one, _ in rewrite.statements(facts) for access in one.accesses}
    arrays = [item for item in facts.buffers if item.id in touched and item.scope == "global"]
    sizes = [byte_count(1, item.dtype) or VECTOR_BYTES for item in arrays]
    width = VECTOR_BYTES // max(sizes, default=VECTOR_BYTES)
    options: list[tuple[float, int, str]] = []
    while width > 1:
        for fewer, rewritten in _REWRITES.items():
            changed = rewritten(facts, width)
            saving_s = question.saving_s(changed) if changed is not None else None
            if saving_s is not None:
                options.append((saving_s, width, fewer))
        width //= 2
    saving_s, width, fewer = max(options, key=lambda option: option[:2], default=(None, 0, ""))
    if question.is_noticeable(saving_s):
        yield Advice(
            rule="not-vectorized",
            span=loop.sites[0] if loop.sites else facts.span,
            severity="hint",
            action=f"vectors of {width} elements",
            message=(
                f"each thread moves one element: T.vectorized({width}) moves {width} at once, "
                f"with 1/{width} of the {fewer}"
            ),
            saving_s=saving_s,
        )


def _advice_of_loop(found: VectorLoop, saving_s: float | None, facts: KernelFacts) -> Advice:
    loop, width = found.loop, found.width
    span = loop.sites[0] if loop.sites else facts.span
    inside = "" if width == found.extent else f", in a loop of {width} inside of it"
    return Advice(
        rule="not-vectorized",
        span=span,
        severity="hint",
        action=f"vectors of {width} elements",
        message=(
            f"the iterations of {loop.var} move neighbouring elements one by one: "
            f"T.vectorized moves {width} at once{inside}"
        ),
        saving_s=saving_s,
        change=LoopKind(span, "vectorized") if width == found.extent else None,
    )


def _has_elements_of_threads(facts: KernelFacts, loop: Loop) -> bool:
    """Whether neighbouring threads take neighbouring elements of an array of global memory.

    A condition that is not a bound divides the elements otherwise than by vectors.
    """
    arrays = {buffer.id for buffer in facts.buffers if buffer.scope == "global"}
    return any(
        loop.var in free_variables(index)
        for statement, _ in rewrite.statements(facts)
        for access in statement.accesses
        if access.buffer in arrays
        for index in access.indices
    ) and not any(
        loop.var in free_variables(node.condition)
        and not operators(node.condition) <= _BOUND_OPERATORS
        for node in walk_nodes(facts.body)
        if isinstance(node, Branch)
    )
