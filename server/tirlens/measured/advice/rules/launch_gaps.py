"""launch-gaps: a GPU idles between kernels for longer than a launch takes.

What it finds
-------------
Gaps before kernels that are longer than the device takes from one small kernel to the next, outside
of the launches of a graph.

Why it costs time
-----------------
Nothing runs in them. The device waits for the host, which prepares and submits each kernel.

Evidence
--------
The gaps of the trace, and `launch_s` of the device in the catalogue: what remains of a gap where
launches are queued ahead. The saving is the difference.

How to change it
----------------
Record the step once and replay it: CUDA graphs (`torch.cuda.CUDAGraph`, `mode="reduce-overhead"`),
HIP graphs. Launch ahead, without synchronisation and reads of tensors in between. Programmatic
dependent launch lets the next kernel begin while the last blocks of this one run (NVIDIA, from
Hopper on).

Example
-------
```diff
 device("h100-sxm")
 kernel("add_kernel", 20e-6)
-kernel("mul_kernel", 20e-6, gap_s=15e-6)
+kernel("mul_kernel", 20e-6, gap_s=1.3e-6)
```

Source
------
NVIDIA, CUDA C++ Programming Guide, "CUDA Graphs", "Programmatic Dependent Launch and
Synchronization".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question
from tirlens.measured.performance.rates import Performance

_HOW = {
    "NVIDIA": "record the step as a CUDA graph, launch ahead without synchronisation, or use "
    "programmatic dependent launch",
    "AMD": "record the step as a HIP graph, or launch ahead without synchronisation",
}


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise graphs where a GPU waits for launches."""
    for vendor, how in _HOW.items():
        gaps = [(row.number, gap_s, cost_s) for row, gap_s, cost_s in _gaps(question, vendor)]
        if gaps:
            idle_s = sum(gap_s for _, gap_s, _ in gaps)
            yield MeasuredAdvice(
                rule="launch-gaps",
                message=how,
                subject=f"gaps before {len(gaps):,} operations",
                rows=tuple(number for number, _, _ in gaps),
                evidence=(
                    Figure("idle", idle_s, "s"),
                    Figure("of the time", idle_s / question.total_s, "share"),
                    Figure("longest", max(gap_s for _, gap_s, _ in gaps), "s"),
                    Figure("a launch costs", gaps[0][2], "s"),
                ),
                saving_s=sum(gap_s - cost_s for _, gap_s, cost_s in gaps),
                is_idle_time=True,
            )


def _gaps(question: Question, vendor: str) -> Iterator[tuple[Performance, float, float]]:
    """Rows with the gap before them and the cost of a launch, where the gap is longer."""
    graphs: dict[str | None, str | None] = {}
    for row in question.rows:
        operation = row.operation
        device = question.device_of(operation)
        graph = operation.graph_launch
        is_in_graph = graph is not None and graphs.get(operation.device) == graph
        graphs[operation.device] = graph
        if device is None or device.kind != "gpu" or device.vendor != vendor or is_in_graph:
            continue
        if operation.gap_s is not None and operation.gap_s > device.launch_s:
            yield row, operation.gap_s, device.launch_s
