"""``compare``: one kernel on several devices, with several calls, or with and without edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tirlens.gate import noise_s
from tirlens.ide import labels, verdicts
from tirlens.model.report import KernelReport
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import analyse_applied
from tirlens.tools.arguments import argument
from tirlens.tools.errors import ToolError
from tirlens.tools.problems import Missing, missing, no_figures
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Workbench

_MOST_VARIANTS = 32


@dataclass(frozen=True)
class Compare(Subject, Page):
    """The request."""

    devices: tuple[str, ...] | None = argument(
        "Ids of two or more devices", None, example=["h100-sxm", "a100-80-sxm"]
    )
    calls: tuple[str, ...] | None = argument(
        "Two or more calls of kernels of the file", None, example=["f(1024)", "f(2048)"]
    )


@dataclass(frozen=True)
class Row:
    """A kernel under one of the conditions.

    `ratio` is its time over that of the fastest with this name, and `is_significant` whether the
    difference is larger than the error of the model.
    """

    variant: str
    name: str
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    bound: str | None
    limit: str
    ratio: float | None = None
    is_significant: bool | None = None


@dataclass(frozen=True)
class Comparison:
    """The answer: one page of the rows, the fastest first."""

    rows: tuple[Row, ...]
    total: int
    next_offset: int | None = None
    missing: tuple[Missing, ...] = optional()


async def compare(bench: Workbench, request: Compare) -> Comparison:
    """Compare the kernels under each condition."""
    variants = _variants(request)
    found: list[tuple[str, KernelReport]] = []
    without: dict[str, Missing] = {}
    for _, subject in variants:
        # Before the first one is executed.
        bench.check(subject)
    for name, subject in variants:
        analysed = await analyse_applied(bench, subject)
        if not analysed.report.kernels and len(variants) == 1:
            raise no_figures(analysed.report, analysed.place.name)
        found += ((name, kernel) for kernel in analysed.report.kernels)
        for one in missing(analysed.report):
            title = f"{name}: {one.name}"
            without.setdefault(title, replace(one, name=title, send={}))
    if not found:
        first = next(iter(without.values()), None)
        why = f"{first.name} {first.why}" if first else "the file has no kernel with figures"
        raise ToolError("no-figures", f"Nothing can be compared: {why}.")
    page = request.cut(_rows(found))
    return Comparison(page.items, page.total, page.next_offset, tuple(without.values()))


def _variants(request: Compare) -> list[tuple[str, Subject]]:
    """The conditions with their names.

    Raises
    ------
    ToolError
        The request names none, or several kinds.
    """
    devices, calls = request.devices or (), request.calls or ()
    kinds = [bool(devices), bool(calls), bool(request.apply)]
    if sum(kinds) != 1 or len(devices) == 1 or len(calls) == 1:
        raise ToolError(
            "argument",
            "Send two or more devices, two or more calls, or the ids of edits as apply: one of "
            "the three.",
            {"devices": ["h100-sxm", "a100-80-sxm"]},
        )
    if len(devices) + len(calls) > _MOST_VARIANTS:
        raise ToolError("argument", f"Send at most {_MOST_VARIANTS} at a time.")
    if request.apply:
        return [("as it is", replace(request, apply=None)), ("with edits", request)]
    if devices:
        return [(name, replace(request, device=name)) for name in dict.fromkeys(devices)]
    return [(call, replace(request, call=call)) for call in dict.fromkeys(calls)]


def _rows(found: Sequence[tuple[str, KernelReport]]) -> list[Row]:
    fastest: dict[str, KernelReport] = {}
    ordered = sorted(found, key=lambda pair: (pair[1].time_s is None, pair[1].time_s or 0.0))
    for _, kernel in ordered:
        if kernel.time_s:
            fastest.setdefault(labels.title(kernel), kernel)
    return [_row(name, kernel, fastest.get(labels.title(kernel))) for name, kernel in ordered]


def _row(variant: str, kernel: KernelReport, best: KernelReport | None) -> Row:
    is_known = best is not None and best.time_s is not None and kernel.time_s is not None
    ratio = is_significant = None
    if is_known and best is not None and best.time_s and kernel.time_s:
        ratio = kernel.time_s / best.time_s
        if kernel is not best and kernel.device_id == best.device_id:
            is_significant = kernel.time_s - best.time_s > noise_s(best, kernel)
        elif kernel is not best and kernel.time_band_s and best.time_band_s:
            # The errors of two devices have nothing in common.
            is_significant = kernel.time_band_s[0] > best.time_band_s[1]
    return Row(
        variant,
        labels.title(kernel),
        kernel.time_s,
        kernel.time_band_s,
        kernel.confidence,
        kernel.bound,
        verdicts.verdict(kernel).cause,
        ratio,
        is_significant,
    )
