"""Work that other work overlaps has a hint of its own kind."""

from __future__ import annotations

import pytest

from tirlens.ide.hints import hints
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens_worker.facts import Span


def report(overlapped_s: float | None, flop: int | None) -> KernelReport:
    cost = BreakdownEntry(
        kind="op",
        label="T.gemm(A, B, C)",
        span=Span(3, 4, 3, 20),
        trips=None,
        executions=1,
        flop=flop,
        global_bytes=0,
        dram_bytes=0.0,
        time_s=0.0,
        share=0.0,
        bound="tensor",
        overlapped_s=overlapped_s,
    )
    return KernelReport(
        name="main",
        definition="main",
        span=Span(1, 0, 1, 0),
        framework="tilelang",
        framework_version="0.1.15",
        call="main",
        call_source="module-level",
        bindings={},
        device_id="h100-sxm",
        device_name="H100",
        time_s=2.0e-3,
        loops=(cost,),
    )


@pytest.mark.parametrize(
    ("overlapped_s", "flop", "label"),
    [
        (1.38e-3, 1_099_511_627_776, "1.4 ms overlapped | 1.1 TFLOP"),
        (1.38e-3, 0, "1.4 ms overlapped"),
        (1.0e-6, 1_099_511_627_776, None),
        (None, 1_099_511_627_776, None),
    ],
)
def test_overlapped_work_is_labelled(
    overlapped_s: float | None, flop: int, label: str | None
) -> None:
    assert [hint.label for hint in hints(report(overlapped_s, flop))] == ([label] if label else [])
