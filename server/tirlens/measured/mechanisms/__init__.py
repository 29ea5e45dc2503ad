"""Mechanisms that explain the difference of a measured and a predicted time, one module each.

A mechanism needs evidence: a figure of the trace that disagrees with that of the prediction, in the
direction of the difference.  A trace without counters has few.

Sources of the meaning of counters: NVIDIA, "Nsight Compute", Kernel Profiling Guide, sections
"Metrics Reference", "Memory Tables" and "Warp Stall Reasons".
"""

from __future__ import annotations

from tirlens.measured.mechanisms import (
    arithmetic,
    clocks,
    configuration,
    dram_traffic,
    instructions,
    l2_traffic,
    occupancy,
    shared_wavefronts,
    spills,
    stalls,
    timing_overhead,
)
from tirlens.measured.mechanisms.mechanism import Mechanism, Question

__all__ = ["Mechanism", "Question", "explain_missing", "find_mechanisms"]

_CHECKS = (
    configuration.check, dram_traffic.check, l2_traffic.check, occupancy.check, spills.check,
    clocks.check, arithmetic.check, instructions.check, shared_wavefronts.check, stalls.check,
    timing_overhead.check,
)  # fmt: skip


def find_mechanisms(question: Question) -> tuple[Mechanism, ...]:
    """The mechanisms of a residual, the greatest disagreement first; empty inside the band."""
    if question.is_in_band is not False:
        return ()
    found = [mechanism for check in _CHECKS for mechanism in check(question)]
    return tuple(sorted(found, key=lambda mechanism: -mechanism.weight))


def explain_missing(question: Question) -> str:
    """What a residual without a mechanism lacks; empty inside the band."""
    if question.is_in_band is None:
        return "the prediction has no band"
    if question.is_in_band:
        return ""
    if question.counters:
        return "no counter of the trace disagrees with the prediction in this direction"
    return (
        "the trace has no counters: DRAM bytes, occupancy and clocks are not known "
        "(ncu --set full has them)"
    )
