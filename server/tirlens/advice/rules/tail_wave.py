"""tail-wave: the last wave of blocks leaves most of the device idle.

What it finds
-------------
A GPU kernel of more than one wave whose last wave is not full.

Why it costs time
-----------------
Blocks run in waves of as many as fit on all SMs together. A block takes as long in a part of a wave
as in a whole one, so that the other SMs wait for the last blocks.

Evidence
--------
The hover's row "waves" has their number and the share of the tail. The saving is the smaller of the
kernel's tail and of what equal blocks would wait: blocks that take unequal times wait for each
other too, which other tiles do not change. What is left is not below the roofline. The rule reports
nothing where the sizes are assumed, where a function makes several launches, or where no tile
determines the number of blocks: one for each row, token or head.

How to change it
----------------
Choose tiles that give a whole number of waves or slightly less. The message has the numbers of
blocks. Where the shape allows no such tiles, use stream-K, which splits the last tiles among all
SMs.

Example
-------
```diff
 import tilelang.language as T

 M, N, K = 2048, 1536, 8192
-BM, BN = 128, 128  # 192 blocks on 132 SMs: 1.45 waves
+BM, BN = 128, 192  # 128 blocks: one wave


 # tirlens: device=h100-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((M, K), "float16"),
     B: T.Tensor((K, N), "float16"),
     C: T.Tensor((M, N), "float16"),
 ):
     with T.Kernel(N // BN, M // BM, threads=256) as (bx, by):
         A_shared = T.alloc_shared((BM, 64), "float16")
         B_shared = T.alloc_shared((64, BN), "float16")
         C_local = T.alloc_fragment((BM, BN), "float32")
         T.clear(C_local)
         for k in T.Pipelined(K // 64, num_stages=3):
             T.copy(A[by * BM, k * 64], A_shared)
             T.copy(B[k * 64, bx * BN], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * BM, bx * BN])
```

Source
------
NVIDIA, Matrix Multiplication Background User's Guide, "Wave Quantization". M. Osama et al.,
"Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU",
PPoPP 2023.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_counting.expressions import linear
from tirlens_worker.facts import KernelFacts


def check(question: Question) -> Iterator[Advice]:
    report = question.report
    if report.waves is None or report.occupancy is None or report.waves.count <= 1:
        return
    if question.has_assumed_sizes or not question.is_one_launch or not _has_tiles(question.facts):
        return
    count, whole = report.waves.count, math.ceil(report.waves.count)
    tail_s = sum(entry.time_s or 0.0 for entry in report.loops if entry.kind == "tail")
    busy_s = max((report.time_s or 0.0) - question.device.launch_s, 0.0)
    saving_s = min(tail_s, busy_s * (1 - count / whole), question.most_s())
    if not question.is_noticeable(saving_s):
        return
    wave = report.occupancy.blocks_per_sm * question.device.sm_count
    last = round(count * wave) % wave or wave
    if last < wave:
        yield Advice(
            rule="tail-wave",
            span=question.facts.span,
            severity="hint",
            action="tiles that fill the last wave",
            message=(
                f"the last of {whole} waves has {last} of {wave} blocks: use tiles that give "
                f"{(whole - 1) * wave} blocks or just under {whole * wave}, or stream-K"
            ),
            saving_s=saving_s,
        )


def _has_tiles(facts: KernelFacts) -> bool:
    """Whether the size of a tile determines the number of blocks.

    It does not where each block has one row, token or head: the number of those is given. A block
    index that is multiplied, or that a tile operation moves along, belongs to a tile.
    """
    blocks = {loop.var for loop, _ in rewrite.loops(facts) if loop.kind == "grid"}
    arrays = {buffer.id for buffer in facts.buffers if buffer.scope == "global"}
    indices = (
        index
        for statement, _ in rewrite.statements(facts)
        for access in statement.accesses
        if access.buffer in arrays and len(access.indices) > 1
        for index in access.indices
    )
    flat = all(len(buffer.shape) == 1 for buffer in facts.buffers if buffer.id in arrays)
    return flat or any(
        abs(factor) > 1
        for index in indices
        for name, factor in linear(index)[0].items()
        if name in blocks
    )
