"""tail-wave: the last wave of blocks leaves most of the device idle.

Blocks run in waves of as many as fit on the SMs together.  Where the last wave is small, tiles that
divide the problem otherwise, or a persistent kernel, save up to what the SMs wait for it (NVIDIA,
Matrix Multiplication Background User's Guide, "Wave Quantization").
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    report = question.report
    if report.waves is None or report.occupancy is None or report.waves.count <= 1:
        return
    saving_s = sum(entry.time_s or 0.0 for entry in report.loops if entry.kind == "tail")
    if not question.is_noticeable(saving_s):
        return
    wave = report.occupancy.blocks_per_sm * question.device.sm_count
    last = round(report.waves.count * wave) % wave or wave
    if last < wave:
        yield Advice(
            rule="tail-wave",
            span=question.facts.span,
            severity="hint",
            message=(
                f"{report.waves.count:.2f} waves of {wave} blocks, the last of {last}: "
                "other tiles, or a persistent kernel, leave fewer SMs waiting"
            ),
            saving_s=saving_s,
        )
