"""The question of a matched kernel: its counters and launch beside the prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tirlens.hardware import Device
from tirlens.measured.groups import Group
from tirlens.measured.matching.residuals import Residual
from tirlens.measured.mechanisms.dram_traffic import BOTH
from tirlens.measured.mechanisms.mechanism import Question


def question_of(residual: Residual, device: Device) -> Question | None:
    """What is known of a residual; None without a measured and a predicted time.

    `device` is that of the prediction.  The figures of the report are those of a whole function, so
    that one launch of several has no question.
    """
    group, report = residual.match.group, residual.match.candidate.report
    is_part = residual.match.number is not None and len(residual.match.candidate.launches) > 1
    if residual.measured_s is None or residual.predicted_s is None or is_part:
        return None
    identity = group.identity
    several = len(residual.match.candidate.launches) > 1
    block = None if identity is None or several else identity.block
    return Question(
        measured_s=residual.measured_s,
        report=report,
        device=device,
        counters=_counters(group),
        grid=None if identity is None or several else identity.grid,
        threads=None if block is None else math.prod(block),
        shared_bytes=None if identity is None or several else identity.shared_bytes,
        registers=None if several else group.first.registers,
        kernel_time_s=group.counters.get("gpu_time_s"),
        # `tirlens measure` reads counters in a run of its own, at the clocks that ncu locks.
        counters_are_of_timed_run="gpu_time_s" not in group.counters,
    )


def _counters(group: Group) -> Mapping[str, float]:
    """The counters of an execution, with the DRAM bytes that a trace has otherwise."""
    if group.dram_bytes is None or not group.executions:
        return group.counters
    return {BOTH: group.dram_bytes / group.executions, **group.counters}
