"""threads: a block has too few threads for its registers.

What it finds
-------------
A tilelang kernel whose fragments do not fit into the registers of its threads.

Why it costs time
-----------------
The fragments of a tilelang block are divided among its threads. With too few threads they need more
registers than a thread has, and the compiler spills them to local memory: products of
4096 x 4096 x 4096 with tiles of 128 x 256 take 1.02 to 1.22 ms with 128 threads on an H100, and
0.2 to 0.23 ms with 256.

Where they fit, more threads save nothing: with tiles of 128 x 128 the same products take 249 to
321 us with 128 threads and 261 to 327 us with 256.

Evidence
--------
A caveat and the row "spills" say that registers spill. The saving is the difference between two
predictions, of which the second has no spills. The rule tries the next two powers of two of
threads. If the fragments do not fit with any number of threads, it advises smaller tiles, without a
saving.

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
-    with T.Kernel(N // 256, N // 128, threads=128) as (bx, by):
+    with T.Kernel(N // 256, N // 128, threads=256) as (bx, by):
         A_shared = T.alloc_shared((128, 32), "float16")
         B_shared = T.alloc_shared((32, 256), "float16")
         C_local = T.alloc_fragment((128, 256), "float32")
         T.use_swizzle(10)
         T.clear(C_local)
         for k in T.Pipelined(N // 32, num_stages=3):
             T.copy(A[by * 128, k * 32], A_shared)
             T.copy(B[k * 32, bx * 256], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 128, bx * 256])
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Register Pressure". `tests/measured/h100_sweep.csv`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice, KernelReport
from tirlens.source.edits import Threads


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if facts.framework != "tilelang" or loop is None or not isinstance(loop.extent, int):
        return
    if not _spills(question.report):
        return
    span = loop.sites[0] if loop.sites else facts.span
    most = question.device.limits.threads_per_block
    changed = [
        (question.what_if(other), threads)
        for threads in _larger_blocks(loop.extent, most)
        if (other := rewrite.with_threads(facts, threads)) is not None
    ]
    options = [
        (saving_s, -threads)
        for report, threads in changed[:2]
        if not _spills(report) and (saving_s := question.saving_of_report_s(report)) is not None
    ]
    saving_s, threads = max(options, default=(None, 0))
    if question.is_noticeable(saving_s):
        reason = f"the fragments do not fit into the registers of {loop.extent} threads"
        yield Advice(
            rule="threads",
            span=span,
            severity="hint",
            action=f"{-threads} threads",
            message=f"{reason}: threads={-threads} in place of {loop.extent}",
            saving_s=saving_s,
            change=Threads(span, -threads),
        )
    elif changed and all(_spills(report) for report, _ in changed):
        yield Advice(
            rule="threads",
            span=span,
            severity="hint",
            action="smaller tiles",
            message=(
                "the fragments do not fit into the registers of an SM, whatever the number of "
                "threads: use smaller tiles"
            ),
        )


def _spills(report: KernelReport) -> bool:
    return any(caveat.is_spill for caveat in report.caveats)


def _larger_blocks(threads: int, most: int) -> list[int]:
    """The powers of two above `threads` up to `most`, whose warps divide tiles evenly."""
    return [size for size in (1 << power for power in range(5, 11)) if threads < size <= most]
