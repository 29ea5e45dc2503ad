"""Wavefronts of shared memory: bank conflicts that the prediction does not have."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question
from tirlens.quantity_text import number, percent

_WAVEFRONTS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
)
_CONFLICTS = (
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu.sum",
)
_WAVEFRONT_BYTES = 128
#: The least part of the wavefronts that are conflicts.
LEAST_PART = 0.2
#: The least share of the measured time that shared memory needs for them, to be its cause.
LEAST_SHARE = 0.3


def check(question: Question) -> Iterator[Mechanism]:
    """Conflicts in a slower kernel whose wavefronts take more time than the prediction has."""
    wavefronts, conflicts = question.counter(*_WAVEFRONTS), question.counter(*_CONFLICTS)
    if wavefronts is None or conflicts is None or not wavefronts[1] or not question.is_slower:
        return
    device, report = question.device, question.report
    rate = device.shared_bytes_per_clk_per_sm / _WAVEFRONT_BYTES * device.clock_hz * device.sm_count
    busy_s = wavefronts[1] / rate
    predicted_s = report.utilisation.get("shared", 0.0) * (report.time_s or 0.0)
    part = conflicts[1] / wavefronts[1]
    if part >= LEAST_PART and busy_s >= max(LEAST_SHARE * question.measured_s, 1.2 * predicted_s):
        yield Mechanism(
            "bank-conflicts",
            f"{percent(min(part, 1.0))} of {number(wavefronts[1])} wavefronts of shared "
            "memory are bank conflicts, more than the prediction has",
            busy_s,
            predicted_s,
            "s",
            (wavefronts[0], conflicts[0]),
            part,
        )
