"""small-grid: the kernel has fewer blocks than the device has SMs.

What it finds
-------------
A GPU kernel with fewer blocks than SMs that takes longer than two launches. A kernel that takes
little longer than its launch has too little work to spread.

Why it costs time
-----------------
An SM without a block does nothing. The device delivers at most the share of its rates that the
occupied SMs have.

Evidence
--------
`bound` is `parallelism`, and the message has the number of blocks and of idle SMs. The saving is
the difference between two predictions. Where the kernel is one product, the rule splits the
reduction among 2, 4, 8, 16 or 32 blocks that add their parts with atomics (split-K), along an axis
of the grid with one block, and adds one launch that clears the result. Where the elements of a
block are independent, it divides each block into as many. Elsewhere there is no saving: what
smaller tiles would take is not known. The rule reports nothing where the sizes are assumed, or
where a function makes several launches.

How to change it
----------------
Use smaller tiles, give each block less work, or split the reduction.

Example
-------
```diff
 import tilelang.language as T

 M, N, K = 512, 512, 65536
+SPLIT = 8


 # tirlens: device=h100-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((M, K), "float16"),
     B: T.Tensor((K, N), "float16"),
     C: T.Tensor((M, N), "float32"),
 ):
-    with T.Kernel(N // 128, M // 128, threads=256) as (bx, by):
+    with T.Kernel(N // 128, M // 128, SPLIT, threads=256) as (bx, by, part):
         A_shared = T.alloc_shared((128, 64), "float16")
         B_shared = T.alloc_shared((64, 128), "float16")
         C_local = T.alloc_fragment((128, 128), "float32")
         T.clear(C_local)
-        for k in T.Pipelined(K // 64, num_stages=3):
-            T.copy(A[by * 128, k * 64], A_shared)
-            T.copy(B[k * 64, bx * 128], B_shared)
+        for k in T.Pipelined(K // 64 // SPLIT, num_stages=3):
+            T.copy(A[by * 128, (part * (K // 64 // SPLIT) + k) * 64], A_shared)
+            T.copy(B[(part * (K // 64 // SPLIT) + k) * 64, bx * 128], B_shared)
             T.gemm(A_shared, B_shared, C_local)
-        T.copy(C_local, C[by * 128, bx * 128])
+        T.atomic_add(C[by * 128, bx * 128], C_local)
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Occupancy".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice import splitting
from tirlens.advice.rule import Question
from tirlens.advice.rules.launch_bound import LAUNCHES
from tirlens.model.report import Advice
from tirlens_worker.facts import Loop

#: Into how many parts a reduction is split.
PARTS = (2, 4, 8, 16, 32)


def check(question: Question) -> Iterator[Advice]:
    report, device = question.report, question.device
    if device.kind != "gpu" or report.schedule != "gpu" or report.time_s is None:
        return
    blocks = math.prod(report.grid) if report.grid else 0
    if not 0 < blocks < device.sm_count or report.time_s < LAUNCHES * device.launch_s:
        return
    if question.has_assumed_sizes or not question.is_one_launch:
        return
    loop = splitting.reduction(question.facts)
    if loop is None:
        saving_s, parts = _smaller_blocks(question, blocks)
        change = f"{blocks * parts} blocks with 1/{parts} of the elements each"
        action = f"{blocks * parts} smaller blocks"
        if saving_s is None:
            # The tiles of a block cannot be divided without another program, of which nothing is
            # known but that no more can be saved than the SMs without a block could do.
            change, action = "use smaller tiles, or give each block less work", "smaller tiles"
            if not question.is_noticeable(question.most_s() * (1 - blocks / device.sm_count)):
                return
    else:
        saving_s, parts = _split(question, loop, blocks)
        written = splitting.written_axis(question.facts)
        along = f" along {written}, which has one block," if written else ""
        change = (
            f"split the loop over {loop.var} among {parts} blocks{along} that add up with "
            "T.atomic_add (split-K)"
        )
        action = f"{parts} splits of loop {loop.var}"
    if (saving_s is None and loop is None) or question.is_noticeable(saving_s):
        yield Advice(
            rule="small-grid",
            span=question.facts.span,
            severity="hint",
            action=action,
            message=(
                f"only {blocks} block{'s' if blocks > 1 else ''} for {device.sm_count} SMs: "
                f"{change}"
            ),
            saving_s=saving_s,
        )


def _smaller_blocks(question: Question, blocks: int) -> tuple[float | None, int]:
    """What the best number of parts of each block saves, and the number.

    There are at least enough threads in a part for a warp, and no more blocks than fill all SMs
    twice. None where the elements of a block depend on each other.
    """
    options = [
        (saving_s, -parts)
        for parts in PARTS
        if blocks * parts <= 2 * question.device.sm_count
        and (
            changed := splitting.with_smaller_blocks(
                question.facts, parts, question.device.limits.warp_size
            )
        )
        is not None
        and (saving_s := question.saving_s(changed)) is not None
    ]
    saving_s, parts = max(options, default=(None, 0))
    return saving_s, -parts


def _split(question: Question, loop: Loop, blocks: int) -> tuple[float | None, int]:
    """What the best split saves, and its parts; no more are tried than fill all SMs twice."""
    options = [
        (saving_s - question.device.launch_s, -parts)
        for parts in PARTS
        if blocks * parts <= 2 * question.device.sm_count
        and (changed := splitting.with_parts(question.facts, loop, parts)) is not None
        and (saving_s := question.saving_s(changed)) is not None
    ]
    saving_s, parts = max(options, default=(None, 0))
    return saving_s, -parts
