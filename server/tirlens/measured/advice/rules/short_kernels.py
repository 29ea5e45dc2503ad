"""short-kernels: a kernel takes less time than its launch.

What it finds
-------------
Kernels of a GPU that run several times and take less than the device needs from the end of one
small kernel to the end of the next.

Why it costs time
-----------------
The next kernel cannot begin before the launch of it is processed: the device is not busy, whatever
the kernel computes.

Evidence
--------
The mean time of an execution, and `launch_s` of the device in the catalogue. At most the time of
all executions and the gaps before them is saved.

How to change it
----------------
Fuse it into the kernel before or behind it (`torch.compile`, an epilogue of a product, one kernel
for a chain of element-wise operations), or process several inputs in one launch.

Example
-------
```diff
 device("h100-sxm")
 kernel("gemm", 100e-6)
-kernel("vectorized_elementwise_kernel", 1.1e-6, executions=20)
+kernel("vectorized_elementwise_kernel", 30e-6)
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Occupancy" and "Kernel Execution"; the launch cost was
measured for each device of the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question

#: A kernel that runs less often is no pattern.
_LEAST_EXECUTIONS = 5


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise fusion of kernels that launches bound."""
    for kernel in question.kernels:
        device, operation = kernel.device, kernel.operation
        if device is None or device.kind != "gpu" or operation.kind != "kernel":
            continue
        if kernel.executions < _LEAST_EXECUTIONS or not kernel.time_s:
            continue
        mean_s = kernel.time_s / kernel.executions
        if mean_s >= device.launch_s:
            continue
        gaps_s = sum(row.operation.gap_s or 0.0 for row in kernel.rows)
        yield MeasuredAdvice(
            rule="short-kernels",
            message="fuse it into a neighbour, or do more in a launch",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("executions", kernel.executions),
                Figure("mean time", mean_s, "s"),
                Figure("a launch costs", device.launch_s, "s"),
                Figure("gaps before them", gaps_s, "s"),
            ),
            saving_s=kernel.time_s + gaps_s,
        )
