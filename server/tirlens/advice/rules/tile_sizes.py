"""tile-sizes: other tiles, threads or stages make the kernel faster.

What it finds
-------------
A tilelang kernel with tiles that the model predicts to be at least 20 % faster with tiles of other
sizes, another number of threads or of stages. These must save as much beyond what other stages
save alone, or more threads where registers spill, which are rules of their own.

Why it costs time
-----------------
A tile of m x n elements of a product reads m + n elements for m * n operations of each step: small
tiles read more, and leave more of a matrix instruction empty. A tile that is too large leaves fewer
blocks than SMs, or takes registers and shared memory that another block would need.

Evidence
--------
The saving is the difference between two predictions. The second is the last of a series of kernels,
each with one size, the threads or the stages of the one before doubled or halved, and each faster
than the one before.

How to change it
----------------
Write the sizes of the message: the shapes of the arrays on the chip, `threads` and `num_stages`,
and the numbers of blocks and iterations accordingly. A code action makes this change where the
sizes have names: variables, or parameters with their defaults. `tirlens tune` ranks more sizes.

Example
-------
```diff
 import tilelang.language as T

 N = 4096
-TILE = 32
+TILE = 128


 # tirlens: device=h100-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((N, N), "float16"),
     B: T.Tensor((N, N), "float16"),
     C: T.Tensor((N, N), "float16"),
 ):
     with T.Kernel(N // TILE, N // TILE, threads=256) as (bx, by):
         A_shared = T.alloc_shared((TILE, 64), "float16")
         B_shared = T.alloc_shared((64, TILE), "float16")
         C_local = T.alloc_fragment((TILE, TILE), "float32")
         T.clear(C_local)
         for k in T.Pipelined(N // 64, num_stages=3):
             T.copy(A[by * TILE, k * 64], A_shared)
             T.copy(B[k * 64, bx * TILE], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * TILE, bx * TILE])
```

Source
------
NVIDIA, Matrix Multiplication Background User's Guide, "Tile Sizes". S. Swann, M. Osama and others,
"tritonBLAS: Triton-based Analytical Approach for GEMM Kernel Parameter Selection", 2025.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.neighbourhood import search
from tirlens.advice.rule import Question
from tirlens.advice.rules import not_pipelined, stages, threads
from tirlens.advice.rules.launch_bound import LAUNCHES
from tirlens.advice.threads import with_names_replaced
from tirlens.advice.tile_sizes import resized_arrays
from tirlens.model.report import Advice
from tirlens.source.edits import ArrayExtent, Sizes
from tirlens_worker.facts import KernelFacts, Loop

#: Predictions of kernels with different tiles differ by less than this by chance.
LEAST = 0.2
#: The most arrays on the chip whose new shapes the message has.
MOST_SHAPES = 3


def check(question: Question) -> Iterator[Advice]:
    report, facts = question.report, question.facts
    if facts.framework != "tilelang" or question.device.kind != "gpu" or not report.time_s:
        return
    if question.has_assumed_sizes or not question.is_one_launch:
        return
    if report.time_s < LAUNCHES * question.device.launch_s:
        return
    if not any(statement.per == "block" for statement, _ in rewrite.statements(facts)):
        return
    if question.most_s() < LEAST * report.time_s:
        return
    found = search(question, with_names_replaced(facts))
    if found is None:
        return
    saving_s = found.saving_s
    changes = ", ".join(_changes(facts, found.facts))
    least_s = LEAST * report.time_s
    if saving_s < least_s or not changes:
        return
    if saving_s - _saving_of_others_s(question) < least_s:
        return
    yield Advice(
        rule="tile-sizes",
        span=facts.span,
        severity="hint",
        action="other tiles",
        message=f"other sizes are faster: {changes}",
        saving_s=saving_s,
        change=_written_sizes(facts, found.facts),
    )


def _saving_of_others_s(question: Question) -> float:
    """Seconds that other stages save alone, or more threads where registers spill."""
    others = map(question.answer, (not_pipelined.check, stages.check, threads.check))
    found = (advice.saving_s or 0.0 for advice in itertools.chain.from_iterable(others))
    return max(found, default=0.0)


def _written_sizes(before: KernelFacts, after: KernelFacts) -> Sizes | None:
    """The change of the text, if the numbers of iterations follow from the shapes of arrays."""
    known = {buffer.id: buffer.shape for buffer in before.buffers}
    extents = tuple(
        ArrayExtent(buffer.name, dimension, now, then)
        for buffer in resized_arrays(before, after)
        for dimension, (now, then) in enumerate(zip(known[buffer.id], buffer.shape, strict=True))
        if now != then and isinstance(now, int) and isinstance(then, int)
    )
    stages = [
        (loop.sites[0], number) for loop, number in _changed_stages(before, after) if loop.sites
    ]
    if len(stages) > 1 or not extents:
        return None
    threads, then = rewrite.thread_loop(before), rewrite.thread_loop(after)
    launched = None
    if threads is not None and then is not None and threads.extent != then.extent:
        if not threads.sites or not isinstance(then.extent, int):
            return None
        launched = (threads.sites[0], then.extent)
    return Sizes(before.span, extents, launched, stages[0] if stages else None)


def _changed_stages(before: KernelFacts, after: KernelFacts) -> Iterator[tuple[Loop, int]]:
    known = {loop.var: loop.annotations.get("num_stages") for loop, _ in rewrite.loops(before)}
    for loop, _ in rewrite.loops(after):
        now = loop.annotations.get("num_stages")
        if now != known.get(loop.var) and isinstance(now, int):
            yield loop, now


def _changes(before: KernelFacts, after: KernelFacts) -> Iterator[str]:
    """What to write, the tiles first."""
    arrays = resized_arrays(before, after)
    for buffer in arrays[:MOST_SHAPES]:
        yield f"{buffer.name} of {' x '.join(map(str, buffer.shape))}"
    if len(arrays) > MOST_SHAPES:
        yield f"and {len(arrays) - MOST_SHAPES} more accordingly"
    if after.launch.threads[:1] != before.launch.threads[:1]:
        yield f"threads={after.launch.threads[0]}"
    extents = {loop.var: loop.extent for loop, _ in rewrite.loops(before)}
    for loop, _ in rewrite.loops(after):
        if not arrays and loop.kind == "parallel" and loop.extent != extents.get(loop.var):
            yield f"{loop.extent} iterations of {loop.var}"
    for _, number in _changed_stages(before, after):
        yield f"num_stages={number}"
