"""copies-of-the-host: data is copied between host and GPU in the section.

What it finds
-------------
Copies from the host to the device and back among the operations that are reported.

Why it costs time
-----------------
A copy over PCIe takes 50 to 100 times as long as one in DRAM. A copy to the host makes the host
wait for all kernels before it, and one from pageable memory is staged and does not overlap kernels.

Evidence
--------
The copies of the trace with their time and, where the trace has them, their bytes. At most their
time is saved: where they overlap kernels, less.

How to change it
----------------
Keep the data on the device; avoid `.item()`, `.cpu()`, prints and conditions on values of tensors
in the step. Copy inputs ahead on a stream of their own, from pinned memory (`pin_memory=True`,
`non_blocking=True`).

Example
-------
```diff
 device("h100-sxm")
 kernel("gemm", 100e-6)
-operation("[CUDA memcpy Device-to-Host]", 30e-6, kind="copy")
+operation("[CUDA memcpy Device-to-Device]", 2e-6, kind="copy")
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Data Transfer Between Host and Device".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tirlens.measured.advice.question import Executions, Figure, MeasuredAdvice, Question

# ``[CUDA memcpy HtoD]``, ``Memcpy DtoH (Device -> Pageable)``, ``MEMORY_COPY_DEVICE_TO_HOST``.
_DIRECTION = re.compile(
    r"(?P<up>host[ _-]?to[ _-]?device|htod|h2d)|(?P<down>device[ _-]?to[ _-]?host|dtoh|d2h)",
    re.IGNORECASE,
)


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise data that stays on the device."""
    for group, direction in (("up", "to the device"), ("down", "to the host")):
        copies = [kernel for kernel in question.kernels if _direction(kernel) == group]
        time_s = sum(kernel.time_s for kernel in copies)
        if time_s:
            yield _advice(copies, direction, time_s)


def _advice(copies: list[Executions], direction: str, time_s: float) -> MeasuredAdvice:
    sizes = [row.operation.counters.get("bytes") for kernel in copies for row in kernel.rows]
    known = [size for size in sizes if size is not None]
    is_pageable = any("pageable" in kernel.operation.name.lower() for kernel in copies)
    pinned = "; some are of pageable memory, which pinned memory replaces" if is_pageable else ""
    return MeasuredAdvice(
        rule="copies-of-the-host",
        message=f"keep the data on the device, or copy ahead on a stream of its own{pinned}",
        subject=f"copies {direction}",
        rows=tuple(number for kernel in copies for number in kernel.numbers),
        evidence=(
            Figure("copies", sum(kernel.executions for kernel in copies)),
            Figure("time", time_s, "s"),
            *([Figure("bytes", sum(known), "B")] if known and len(known) == len(sizes) else []),
        ),
        saving_s=time_s,
    )


def _direction(kernel: Executions) -> str | None:
    operation = kernel.operation
    found = _DIRECTION.search(operation.name) if operation.kind == "copy" else None
    return found.lastgroup if found else None
