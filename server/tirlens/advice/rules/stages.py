"""stages: a pipelined loop has too few stages to cover its loads, or more than pay.

What it finds
-------------
A tilelang loop with two stages or more, where another number of stages from 2 to 5 is faster.

Why it costs time
-----------------
Each stage is one more copy of the loop's shared buffers. More stages overlap more of the latency of
the loads with computation. Fewer stages leave shared memory for another block on the SM.

Evidence
--------
The copies have exposed latency in the breakdown, or the occupancy is limited by shared memory. The
saving is the difference between two predictions.

How to change it
----------------
Write the number of stages of the message. A code action makes this change.

Example
-------
```diff
 import tilelang.language as T

 N = 16384


 # tirlens: device=h100-sxm
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
         T.use_swizzle(10)
         T.clear(C_local)
-        for k in T.Pipelined(N // 32, num_stages=2):
+        for k in T.Pipelined(N // 32, num_stages=4):
             T.copy(A[by * 128, k * 32], A_shared)
             T.copy(B[k * 32, bx * 128], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 128, bx * 128])
```

Source
------
tilelang, `src/transform/inject_pipeline.cc` (one copy of a buffer a stage).
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.edits import LoopKind

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
            and (
                saving_s := question.saving_s(
                    rewrite.with_stages(question.facts, loop, stages), loop
                )
            )
            is not None
        ]
        saving_s, stages = max(options, default=(None, 0))
        if question.is_noticeable(saving_s):
            reason = "hides more of the loads' latency" if -stages > now else "leaves more room"
            yield Advice(
                rule="stages",
                span=loop.sites[0],
                severity="hint",
                action=f"{-stages} stages",
                message=f"num_stages={-stages} in place of {now} {reason}",
                saving_s=saving_s,
                change=LoopKind(loop.sites[0], "Pipelined", -stages),
            )
