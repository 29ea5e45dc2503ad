"""threads: a block has too few threads for its registers or for the matrix units.

What it finds
-------------
A tilelang kernel whose fragments do not fit into the registers of its threads, or, on devices with
`wgmma`, a product computed by a single warpgroup.

Why it costs time
-----------------
The fragments of a tilelang block are divided among its threads. With too few threads they need more
registers than a thread has, and the compiler spills them to local memory. On Hopper a single
warpgroup beside the producer waits for each of its own products, where two alternate: tilelang
products of 128 x 128 x 64 reach about half of an H200's peak with one and three quarters with two
(`tests/measured`).

Evidence
--------
A caveat and the row "spills" say that registers spill, or the breakdown shows exposed latency at
the product. The saving is the difference between two predictions. The rule tries the next power of
two of threads, and the one after it where registers spill.

How to change it
----------------
Write the `threads` of the message. A code action makes this change.

Example
-------
```diff
 import tilelang.language as T

 N = 8192


 # tirlens: device=h100-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((N, N), "float16"),
     B: T.Tensor((N, N), "float16"),
     C: T.Tensor((N, N), "float16"),
 ):
-    with T.Kernel(N // 128, N // 128, threads=128) as (bx, by):
+    with T.Kernel(N // 128, N // 128, threads=256) as (bx, by):
         A_shared = T.alloc_shared((128, 32), "float16")
         B_shared = T.alloc_shared((32, 128), "float16")
         C_local = T.alloc_fragment((128, 128), "float32")
         T.use_swizzle(10)
         T.clear(C_local)
         for k in T.Pipelined(N // 32, num_stages=3):
             T.copy(A[by * 128, k * 32], A_shared)
             T.copy(B[k * 32, bx * 128], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 128, bx * 128])
```

Source
------
NVIDIA, CUTLASS documentation, "Efficient GEMM in CUDA" (warp-specialised ping-pong kernels).
`tests/measured/h200_tileops.csv`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.edits import Threads
from tirlens_worker.facts import KernelFacts

WARPGROUP = 128


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if facts.framework != "tilelang" or loop is None or not isinstance(loop.extent, int):
        return
    spills = any(caveat.is_spill for caveat in question.report.caveats)
    alone = loop.extent == WARPGROUP and "wgmma" in question.device.features and _multiplies(facts)
    if not (spills or alone):
        return
    most = question.device.limits.threads_per_block
    options = [
        (saving_s, -threads)
        for threads in _larger_blocks(loop.extent, most)[: 2 if spills else 1]
        if (changed := rewrite.with_threads(facts, threads)) is not None
        and (saving_s := question.saving_s(changed)) is not None
    ]
    saving_s, threads = max(options, default=(None, 0))
    if question.is_noticeable(saving_s):
        reason = (
            f"the fragments do not fit into the registers of {loop.extent} threads"
            if spills
            else "one warpgroup waits for each of its own products"
        )
        span = loop.sites[0] if loop.sites else facts.span
        yield Advice(
            rule="threads",
            span=span,
            severity="hint",
            action=f"{-threads} threads",
            message=f"{reason}: threads={-threads} in place of {loop.extent}",
            saving_s=saving_s,
            change=Threads(span, -threads),
        )


def _larger_blocks(threads: int, most: int) -> list[int]:
    """The powers of two above `threads` up to `most`, whose warps divide tiles evenly."""
    return [size for size in (1 << power for power in range(5, 11)) if threads < size <= most]


def _multiplies(facts: KernelFacts) -> bool:
    return any(item.op == "mma" for one, _ in rewrite.statements(facts) for item in one.arith)
