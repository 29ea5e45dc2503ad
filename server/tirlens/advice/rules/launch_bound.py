"""launch-bound: the kernel takes about as long to launch as to run.

What it finds
-------------
A GPU kernel that takes less than two launches of its device.

Why it costs time
-----------------
A kernel of a stream starts some microseconds after the one before it ends, however little it has to
do. No change inside the kernel shortens this.

Evidence
--------
The message has the share of the predicted time that the launch takes, as the lens and the line
`launch` of the breakdown have it: `launch_s` of the device file without the time in which its
smallest kernel starts a block and loads a value. There is no saving, because the change lies
outside of the kernel.

How to change it
----------------
Give one launch more work: fuse the kernel with its neighbours, or process a batch in one launch.
Where that is not possible, record the launches in a CUDA graph and replay it.

Example
-------
```diff
 import tilelang.language as T

-ROWS = 1  # one launch for each row
+ROWS = 8192  # one launch for all rows


 # tirlens: device=h100-sxm
 @T.prim_func
 def scale(X: T.Tensor((ROWS, 4096), "float16"), Y: T.Tensor((ROWS, 4096), "float16")):
     with T.Kernel(ROWS, 4, threads=128) as (row, block):
         for i in T.Parallel(1024):
             Y[row, block * 1024 + i] = X[row, block * 1024 + i] * T.float16(2)
```

Source
------
NVIDIA, CUDA C++ Programming Guide, "CUDA Graphs". The launch times of the devices are measured
(te42kyfo/gpu-benches, `gpu-small-kernels`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice

#: A kernel that takes less than this many launches is bound by its own.
LAUNCHES = 2


def check(question: Question) -> Iterator[Advice]:
    report, launch_s = question.report, question.device.launch_s
    time_s = report.time_s
    if report.schedule == "gpu" and time_s is not None and time_s < LAUNCHES * launch_s:
        share = next((entry.share for entry in report.loops if entry.kind == "launch"), None)
        takes = "most of the time" if share is None else f"{share:.0%} of the time"
        yield Advice(
            rule="launch-bound",
            span=question.facts.span,
            severity="info",
            action="fused launches or a CUDA graph",
            message=(
                f"the launch takes {takes}: "
                "fuse the kernel with its neighbours, or replay it from a CUDA graph"
            ),
        )
