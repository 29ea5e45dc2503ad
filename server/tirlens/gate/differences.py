"""What differs between two sides of one kernel, and what of it makes most of the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.gate.causes import Cause
from tirlens.gate.code_changes import CodeChange
from tirlens.gate.reasons import FigureChange
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens_worker.protocol import CUDA

# Two times that differ by less are the same.
_LEAST_DIFFERENCE = 5e-4
# An aspect with this part of a difference explains it.
_MAIN_PART = 0.5


@dataclass(frozen=True)
class Difference:
    """What a kernel has otherwise now than before.

    `figures` are those that differ, `causes` the effects of each aspect on the time, and `code` the
    change of the generated code; None where a side has none.  `notes` are the caveats that only one
    side has.
    """

    figures: tuple[FigureChange, ...]
    causes: tuple[Cause, ...]
    code: CodeChange | None
    reason: str
    notes: tuple[str, ...] = ()


def difference(
    before: KernelReport,
    now: KernelReport,
    figures: Sequence[FigureChange],
    found: Sequence[Cause],
    code: CodeChange | None,
) -> Difference:
    """The difference of two reports, with its main reason as a sentence."""
    reason = _reason(before, now, figures, found, code)
    return Difference(tuple(figures), tuple(found), code, reason)


def _reason(
    before: KernelReport,
    now: KernelReport,
    figures: Sequence[FigureChange],
    found: Sequence[Cause],
    code: CodeChange | None,
) -> str:
    if before.time_s is None or now.time_s is None:
        return ""
    change_s = now.time_s - before.time_s
    if abs(change_s) < _LEAST_DIFFERENCE * before.time_s:
        return _without_effect(figures, code)
    amount = f"{labels.seconds(abs(change_s))} {'more' if change_s > 0 else 'less'}"
    same_way = [cause for cause in found if cause.effect_s * change_s > 0]
    if not same_way:
        return f"{amount}: no single difference has this effect"
    main = same_way[0]
    what = "; ".join(one.text for one in figures if one.aspect == main.aspect) or main.aspect
    effect = labels.seconds(abs(main.effect_s))
    if abs(main.effect_s) < _MAIN_PART * abs(change_s):
        return f"{amount}, of several differences: {effect} of the largest ({what})"
    return f"{amount}, mainly {main.aspect}: {effect} ({what})"


def _without_effect(figures: Sequence[FigureChange], code: CodeChange | None) -> str:
    """Why there is no difference in time."""
    texts = {text.language: text for text in code.texts} if code is not None else {}
    cuda = texts.get(CUDA)
    if cuda is not None and not cuda.diff:
        return "the same generated code"
    if figures:
        return f"the same time by the model, with {'; '.join(one.text for one in figures)}"
    if cuda is not None:
        lines = labels.count(max(cuda.added, cuda.removed), "line")
        return f"the same time by the model, with {lines} of the generated code that differ"
    return ""
