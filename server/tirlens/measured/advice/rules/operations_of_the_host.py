"""operations-of-the-host: operations of a model that the host computes.

What it finds
-------------
Operations on Tensix traces that ran on the host, such as `(torch)` fallbacks.

Why it costs time
-----------------
Their operands are copied to the host and their results back, and the device waits.

Evidence
--------
The time of the host, where the trace has it.

How to change it
----------------
Use the operation of TT-NN that does the same, or move it out of the step.

Example
-------
```diff
 device("wormhole-n150")
 operation("LayerNorm", 80e-6, cores=64)
-operation("aten::index (torch)", None, kind="host", host_time_s=400e-6)
+operation("Embedding", 20e-6, cores=64)
```

Source
------
tenstorrent/tt-perf-report, README: host operations.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise operations of the device."""
    if not any(kernel.has_feature("tensix") for kernel in question.kernels):
        return
    for kernel in question.kernels:
        if kernel.operation.kind != "host":
            continue
        times = [row.operation.host_time_s for row in kernel.rows]
        host_s = sum(time_s for time_s in times if time_s is not None)
        yield MeasuredAdvice(
            rule="operations-of-the-host",
            message="an operation of the device in its place",
            subject=kernel.title,
            rows=kernel.numbers,
            evidence=(
                Figure("executions", kernel.executions),
                *([Figure("time of the host", host_s, "s")] if host_s else []),
            ),
            saving_s=host_s or None,
        )
