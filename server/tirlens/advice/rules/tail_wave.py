"""tail-wave: the last wave of blocks leaves most of the device idle.

Blocks run in waves of as many as fit on the SMs together, and a part of a wave takes the time of a
whole one where one block takes as long alone as beside others.  Tiles that give a whole number of
waves, or stream-K, which splits the last tiles among all SMs, save up to what the SMs wait (NVIDIA,
Matrix Multiplication Background User's Guide, "Wave Quantization"; M. Osama et al., "Stream-K",
PPoPP 2023).  Blocks that take unequal times wait for each other too, which neither helps: of the
kernel's tail, no more is promised than equal blocks would wait.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    report = question.report
    if report.waves is None or report.occupancy is None or report.waves.count <= 1:
        return
    count, whole = report.waves.count, math.ceil(report.waves.count)
    tail_s = sum(entry.time_s or 0.0 for entry in report.loops if entry.kind == "tail")
    busy_s = max((report.time_s or 0.0) - question.device.launch_s, 0.0)
    saving_s = min(tail_s, busy_s * (1 - count / whole))
    if not question.is_noticeable(saving_s):
        return
    wave = report.occupancy.blocks_per_sm * question.device.sm_count
    last = round(count * wave) % wave or wave
    if last < wave:
        yield Advice(
            rule="tail-wave",
            span=question.facts.span,
            severity="hint",
            message=(
                f"{count:.2f} waves take the time of {whole}, the last has {last} of {wave} "
                f"blocks: tiles that give {(whole - 1) * wave} blocks or just under {whole * wave}"
                ", or stream-K, leave fewer SMs waiting"
            ),
            saving_s=saving_s,
        )
