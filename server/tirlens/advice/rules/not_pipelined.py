"""not-pipelined: a loop waits for its tiles in every iteration.

What it finds
-------------
A tilelang loop that copies tiles into shared memory and has no stages, or one.

Why it costs time
-----------------
Without stages an iteration takes the latency of the loads, their transfer and the computation, one
after the other. With `num_stages` of 2 or more `T.Pipelined` loads the tiles of later iterations
while the current ones are computed with, at the price of one copy of the shared buffers a stage.

Evidence
--------
The copies have exposed latency in the breakdown. The saving is the difference between two
predictions. The rule tries 2, 3 and 4 stages and reports the best that fits into shared memory.

How to change it
----------------
Write `T.Pipelined(extent, num_stages=n)` in place of the loop. A code action makes this change.

Example
-------
```diff
 import tilelang.language as T

 N = 8192


 # tirlens: device=a100-80-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((N, N), "float16"),
     B: T.Tensor((N, N), "float16"),
     C: T.Tensor((N, N), "float16"),
 ):
     with T.Kernel(N // 128, N // 128, threads=256) as (bx, by):
         A_shared = T.alloc_shared((128, 32), "float16")
         B_shared = T.alloc_shared((32, 128), "float16")
         C_local = T.alloc_fragment((128, 128), "float32")
         T.clear(C_local)
-        for k in T.serial(N // 32):
+        for k in T.Pipelined(N // 32, num_stages=3):
             T.copy(A[by * 128, k * 32], A_shared)
             T.copy(B[k * 32, bx * 128], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 128, bx * 128])
```

Source
------
tilelang, `src/transform/inject_pipeline.cc`. NVIDIA, CUDA C++ Programming Guide, "Asynchronous Data
Copies".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.edits import LoopKind
from tirlens_worker.facts import Copy, Loop

#: Loops that T.Pipelined can take the place of.  Those of blocks and threads take no turns.
SEQUENTIAL_KINDS = frozenset({"serial", "pipelined", "unroll"})


def check(question: Question) -> Iterator[Advice]:
    if question.facts.framework != "tilelang":
        return
    shared = {buffer.id for buffer in question.facts.buffers if buffer.scope.startswith("shared")}
    for loop, _ in rewrite.loops(question.facts):
        now = loop.annotations.get("num_stages", 0)
        if now > 1 or loop.kind not in SEQUENTIAL_KINDS or not loop.sites:
            continue
        if not _loads_tiles(loop, shared) or not question.can_save(loop):
            continue
        options = list(_options(question, loop))
        if not options:
            continue
        saving_s, stages = max(options, key=lambda option: (option[0], -option[1]))
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="not-pipelined",
                span=loop.sites[0],
                severity="hint",
                action=f"{stages} stages",
                message=(
                    "loads and compute do not overlap: "
                    f"T.Pipelined(..., num_stages={stages}) {'in place of 1 ' if now else ''}"
                    "overlaps them"
                ),
                saving_s=saving_s,
                change=LoopKind(loop.sites[0], "Pipelined", stages),
            )


def _options(question: Question, loop: Loop) -> Iterator[tuple[float, int]]:
    """What each number of stages saves, as long as more of them can save anything."""
    for stages in (2, 3, 4):
        saving_s = question.saving_s(rewrite.with_stages(question.facts, loop, stages), loop)
        if saving_s is None or saving_s <= 0.0:
            return
        yield saving_s, stages


def _loads_tiles(loop: Loop, shared: set[str]) -> bool:
    copies = [node for node in loop.body if isinstance(node, Copy)]
    return any(
        access.mode == "write" and access.buffer in shared
        for copy in copies
        for access in copy.accesses
    )
