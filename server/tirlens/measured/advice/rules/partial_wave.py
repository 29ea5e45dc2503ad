"""partial-wave: a kernel has fewer blocks than the GPU has SMs.

What it finds
-------------
Kernels whose grid has fewer blocks than the device has SMs or compute units, and that take at least
twice as long as a launch.

Why it costs time
-----------------
An SM runs whole blocks. The others idle as long as the kernel runs, unless another stream has work
for them.

Evidence
--------
The grid of the launch, and the SMs of the device. With its work on all of them the kernel takes at
least the ratio of its time, and at least the time of a launch.

How to change it
----------------
Smaller tiles; a reduction that is split over several blocks (split-k, flash decoding); several
inputs in one launch, or launches on several streams.

Example
-------
```diff
 device("h100-sxm")
-kernel("decode_attention", 60e-6, grid=(16, 1, 1))
+kernel("decode_attention", 20e-6, grid=(128, 2, 1))
```

Source
------
NVIDIA, Matrix Multiplication Background User's Guide, "Wave Quantization"; Nsight Compute, rule
"Launch Statistics: small grid".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise more blocks."""
    for kernel in question.kernels:
        device, operation = kernel.device, kernel.operation
        if device is None or device.kind != "gpu" or operation.kind != "kernel":
            continue
        if operation.grid is None or not kernel.time_s:
            continue
        blocks = math.prod(operation.grid)
        launches_s = kernel.executions * device.launch_s
        if not 0 < blocks < device.sm_count or kernel.time_s < 2 * launches_s:
            continue
        least_s = max(kernel.time_s * blocks / device.sm_count, launches_s)
        yield MeasuredAdvice(
            rule="partial-wave",
            message=f"more blocks: {blocks} leave {device.sm_count - blocks} of "
            f"{device.sm_count} SMs without work",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("time", kernel.time_s, "s"),
                Figure("executions", kernel.executions),
                Figure("blocks", blocks),
                Figure("SMs", device.sm_count),
            ),
            saving_s=kernel.saving_down_to_s(least_s),
        )
