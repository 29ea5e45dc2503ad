"""partial-warp: the threads of a block do not fill its last warp.

What it finds
-------------
A GPU kernel whose threads per block are no multiple of the warp size of its device: 32, or 64 on
AMD's CDNA.

Why it costs time
-----------------
An instruction is issued for a whole warp. The lanes without a thread take issue slots and do
nothing.

Evidence
--------
The message has the number of idle lanes of the last warp. There is no saving: what the threads
would do with the other lanes depends on how the work is divided.

How to change it
----------------
Launch a multiple of the warp size, and divide the work accordingly.

Example
-------
```diff
 import tilelang.language as T

 N = 1 << 22


 # tirlens: device=h100-sxm
 @T.prim_func
 def scale(X: T.Tensor((N,), "float16"), Y: T.Tensor((N,), "float16")):
-    with T.Kernel(N // 1024, threads=100) as block:
+    with T.Kernel(N // 1024, threads=128) as block:
         for i in T.Parallel(1024):
             Y[block * 1024 + i] = X[block * 1024 + i] * T.float16(2)
```

Source
------
NVIDIA, CUDA C++ Programming Guide, "SIMT Architecture".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    threads, warp = question.report.threads_per_block, question.device.limits.warp_size
    if question.device.kind == "gpu" and threads is not None and threads % warp:
        yield Advice(
            rule="partial-warp",
            span=question.facts.span,
            severity="hint",
            action=f"multiples of {warp} threads",
            message=(
                f"a block of {threads} thread{'s' if threads > 1 else ''} leaves "
                f"{-threads % warp} of the {warp} lanes of its {'last ' if threads > warp else ''}"
                "warp idle"
            ),
        )
