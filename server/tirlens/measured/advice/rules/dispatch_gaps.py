"""dispatch-gaps: Tensix cores wait between operations for longer than a replayed trace needs.

What it finds
-------------
Gaps of more than 6.5 us before operations.

Why it costs time
-----------------
Nothing runs in them. The device waits for the host, which prepares and dispatches each operation.

Evidence
--------
The gaps of the trace. Between operations of a recorded trace about 6 us remain; the saving is the
difference.

How to change it
----------------
Record the step once with `ttnn.begin_trace_capture` and replay it with `ttnn.execute_trace`, with
two command queues for inputs. Where runtime arguments of kernels are the same in each call, make
them compile-time arguments.

Example
-------
```diff
 device("wormhole-n150")
 operation("LayerNorm", 80e-6, cores=64)
-operation("Softmax", 50e-6, cores=64, gap_s=40e-6)
+operation("Softmax", 50e-6, cores=64, gap_s=6e-6)
```

Source
------
tenstorrent/tt-perf-report, README: op-to-op gaps above 6.5 us; tenstorrent/tt-metal,
`tech_reports/AdvancedPerformanceOptimizationsForModels/AdvancedPerformanceOptimizationsForModels.md`,
"Metal Trace"."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.advice.question import Figure, MeasuredAdvice, Question

#: Gaps above this are reported, and what remains of them in a replayed trace (tt-perf-report).
_LONG_GAP_S = 6.5e-6
_REMAINING_GAP_S = 6.0e-6


def check(question: Question) -> Iterator[MeasuredAdvice]:
    """Advise a recorded trace."""
    gaps = [
        (row.number, row.operation.gap_s)
        for row in question.rows
        if row.operation.gap_s is not None and row.operation.gap_s > _LONG_GAP_S
        if (device := question.device_of(row.operation)) and "tensix" in device.features
    ]
    if not gaps:
        return
    idle_s = sum(gap_s for _, gap_s in gaps)
    yield MeasuredAdvice(
        rule="dispatch-gaps",
        message="record the step as a trace and replay it (ttnn.begin_trace_capture); keep the "
        "host ahead of the device",
        subject=f"gaps before {len(gaps):,} operations",
        rows=tuple(number for number, _ in gaps),
        evidence=(
            Figure("idle", idle_s, "s"),
            Figure("of the time", idle_s / question.total_s, "share"),
            Figure("longest", max(gap_s for _, gap_s in gaps), "s"),
            Figure("remain in a replayed trace", _REMAINING_GAP_S, "s"),
        ),
        saving_s=idle_s - _REMAINING_GAP_S * len(gaps),
        is_idle_time=True,
    )
