"""A launch that is not the predicted one."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement


def check(question: Question) -> Iterator[Mechanism]:
    """Another number of blocks or threads."""
    report = question.report
    if question.grid is not None and report.grid:
        yield from _differing("blocks", math.prod(question.grid), math.prod(report.grid))
    if question.threads is not None and report.threads_per_block is not None:
        yield from _differing("threads a block", question.threads, report.threads_per_block)


def _differing(what: str, measured: int, predicted: int) -> Iterator[Mechanism]:
    if measured != predicted:
        yield Mechanism(
            "launch",
            f"{measured:,} {what}, not {predicted:,}: another launch than the predicted one",
            measured,
            predicted,
            what,
            (),
            disagreement(measured, predicted),
        )
