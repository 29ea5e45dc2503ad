"""shared-overflow: a block needs more shared memory than the device gives to one block.

What it finds
-------------
A GPU kernel whose shared memory per block exceeds `limits.shared_bytes_per_block` of the device.

Why it costs time
-----------------
The kernel does not run: it fails when it is compiled or launched.

Evidence
--------
The message has the bytes that a block needs and those that the device gives. The bytes are those of
the lowered kernel where there is one, and estimated from the source elsewhere. The severity is
`error`, and `info` where the arguments of the kernel are assumed.

How to change it
----------------
Use smaller tiles, fewer stages, or a narrower type in shared memory.

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
     with T.Kernel(N // 256, N // 256, threads=512) as (bx, by):
         A_shared = T.alloc_shared((256, 64), "float16")
         B_shared = T.alloc_shared((64, 256), "float16")
         C_local = T.alloc_fragment((256, 256), "float32")
         T.clear(C_local)
-        for k in T.Pipelined(N // 64, num_stages=4):
+        for k in T.Pipelined(N // 64, num_stages=3):
             T.copy(A[by * 256, k * 64], A_shared)
             T.copy(B[k * 64, bx * 256], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 256, bx * 256])
```

Source
------
NVIDIA, CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    asked = question.report.shared_bytes_per_block
    limit = question.device.limits.shared_bytes_per_block
    if question.device.kind == "gpu" and asked is not None and asked > limit:
        message = (
            f"a block needs {asked} bytes of shared memory and {question.device.id} gives {limit}"
        )
        is_assumed = question.facts.call_source == "assumed"
        yield Advice(
            rule="shared-overflow",
            span=question.facts.span,
            severity="info" if is_assumed else "error",
            action="smaller tiles or fewer stages",
            message=(
                f"{message} with the assumed arguments, which may be wrong: choose others"
                if is_assumed
                else f"{message}: use smaller tiles or fewer stages"
            ),
        )
