"""l2-reuse: blocks that run at the same time share too little of their input in the L2 cache.

What it finds
-------------
A tilelang kernel with a grid of two dimensions or more, bound by DRAM or L2, that starts its blocks
row by row.

Why it costs time
-----------------
The blocks that run at the same time are a wave. Launched row by row, a wave covers few rows of the
output and all of its columns: it reads few tiles of one operand and all of the other. A wave that
covers a region nearer to a square reads fewer distinct tiles, so that each tile fetched from DRAM
serves more blocks.

Evidence
--------
`bound` is `dram` or `l2`, and the DRAM bytes exceed the compulsory bytes. The saving is the
difference between two predictions. The rule tries panels of 2, 4, 8, 10 and 16 blocks and reports
the fastest.

How to change it
----------------
Call `T.use_swizzle(panel)` at the start of the kernel. A code action inserts the call.

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
+        T.use_swizzle(10)
         T.clear(C_local)
         for k in T.Pipelined(N // 32, num_stages=3):
             T.copy(A[by * 128, k * 32], A_shared)
             T.copy(B[k * 32, bx * 128], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 128, bx * 128])
```

Source
------
tilelang, `T.use_swizzle` (thread block rasterisation). P. Tillet et al., Triton tutorial "Matrix
Multiplication", section "L2 Cache Optimizations".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.edits import Opening

PANELS = (2, 4, 8, 10, 16)


def check(question: Question) -> Iterator[Advice]:
    facts, report = question.facts, question.report
    if facts.framework != "tilelang" or facts.launch.panel or report.bound not in ("dram", "l2"):
        return
    if sum(extent > 1 for extent in report.grid) < 2:
        return

    options = [(question.what_if(rewrite.with_panel(facts, panel)), panel) for panel in PANELS]
    changed, panel = min(
        options, key=lambda it: (it[0].time_s or math.inf, it[0].dram_bytes.total or 0)
    )
    saving_s = question.saving_of_report_s(changed)
    if question.is_noticeable(saving_s):
        yield Advice(
            rule="l2-reuse",
            span=facts.span,
            severity="hint",
            action=f"panels of {panel} (T.use_swizzle)",
            message=f"T.use_swizzle({panel}) lets blocks of one wave share tiles in L2",
            saving_s=saving_s,
            change=Opening(facts.span, f"use_swizzle({panel})"),
        )
