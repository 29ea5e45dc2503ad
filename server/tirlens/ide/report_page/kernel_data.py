"""One kernel of the report page as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.ide import labels, launch, lenses, tables, verdicts
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.ide.report_page.axes import fraction
from tirlens.ide.report_page.breakdown_data import (
    line_columns,
    line_rows,
    time_change,
    waterfall,
)
from tirlens.ide.report_page.layout_data import layout_data
from tirlens.ide.report_page.roofline_data import kernel_roofline
from tirlens.ide.report_page.schema import Advice as AdviceData
from tirlens.ide.report_page.schema import (
    AnalysedKernel,
    Bars,
    Before,
    Change,
    Column,
    Fact,
    Kernel,
    Tile,
    Unit,
)
from tirlens.ide.report_page.timeline_data import timeline_data

if TYPE_CHECKING:
    from tirlens.hardware import Device
    from tirlens.model.details import KernelDetails
    from tirlens.model.report import Advice, KernelReport

_LEAST_CHANGE = 0.005
_VERDICT = ("time", "verdict", "work", "size")
# L1 and shared memory are one unit.
_UNIT_NAMES = {**verdicts.UNITS, "shared": "shared memory, L1"}


@dataclass(frozen=True)
class Counterpart:
    """The same kernel in another version of its file or on another device.

    `line_s` are its times at the present lines.
    """

    name: str
    report: KernelReport
    line_s: Mapping[int, float]


@dataclass(frozen=True)
class KernelView:
    """A kernel with what the page displays of it; `details` are None where they were left out."""

    report: KernelReport
    device: Device
    details: KernelDetails | None = None
    before: Counterpart | None = None


def kernel_data(
    view: KernelView, cells: CellPlaces = NO_CELLS, longest_s: float | None = None
) -> Kernel:
    """The JSON of a kernel, of a notebook with these `cells`.

    `longest_s` is the time of the slowest kernel of the page.
    """
    report, before = view.report, view.before
    name = labels.title(report)
    verdict = lenses.lens(report, _VERDICT)
    bar = fraction(report.time_s / longest_s) if report.time_s and longest_s else 0.0
    if not report.has_counts:
        return {
            "name": name,
            "line": report.span.line,
            "device": report.device_id,
            "verdict": verdict,
            "time_s": report.time_s,
            "bar": bar,
            "failed": report.message or report.status,
        }
    data: AnalysedKernel = {
        "name": name,
        "line": report.span.line,
        "device": report.device_id,
        "verdict": verdict,
        "time_s": report.time_s,
        "bar": bar,
        "time": labels.seconds(report.time_s),
        "reason": report.bound_reason,
        "tiles": _tiles(report),
        "before": None if before is None else _before(report, before),
        "units": _units(report),
        "facts": [Fact(*pair) for pair in _facts(report, cells)],
        "columns": [
            Column(one, "text" if one in tables.WORDS else "number") for one in line_columns()
        ],
        "rows": line_rows(report, None if before is None else before.line_s, cells),
        "waterfall": waterfall(report),
        "roofline": kernel_roofline(report, view.device),
        "advice": [_advice(item, report, cells) for item in report.advice],
        "notes": list(dict.fromkeys(item.message for item in report.caveats)),
        "detailed": view.details is not None,
    }
    if view.details is not None:
        timeline = view.details.timeline
        data["timeline"] = None if timeline is None else timeline_data(timeline)
        data["layouts"] = [layout_data(layout) for layout in view.details.shared_layouts]
    return data


def _facts(report: KernelReport, cells: CellPlaces) -> list[tuple[str, str]]:
    site = report.call_site
    return tables.particulars(
        report if site is None else replace(report, call_site=cells.in_cell(site))
    )


def _tiles(report: KernelReport) -> list[Tile]:
    """The figures at the top."""
    cells = tables.kernel_cells(report)
    occupancy, waves = report.occupancy, report.waves
    limiter = "" if occupancy is None else f"limited by {occupancy.limiter}"
    last = "" if waves is None else launch.last_wave(waves)
    dram = [labels.rate(report.dram_bytes_per_s, "B")] if report.dram_bytes_per_s else []
    if report.dram_fraction is not None:
        dram.append(f"{labels.percent(report.dram_fraction)} of peak")
    tiles = [
        Tile("time", cells["time"], cells["band"]),
        Tile("bound", cells["bound"], report.bound_class or ""),
        Tile("arithmetic", cells["rate"], f"{cells['peak']} of peak" if cells["peak"] else ""),
        Tile("DRAM", cells["DRAM"], ", ".join(dram)),
        Tile("occupancy", cells["occupancy"], limiter),
        Tile("waves", cells["waves"], last),
    ]
    return [tile for tile in tiles if tile.value]


def _before(report: KernelReport, before: Counterpart) -> Before:
    other = before.report
    cells, others = tables.kernel_cells(report), tables.kernel_cells(other)
    found: Before = {
        "name": before.name,
        "time": labels.seconds(other.time_s),
        "cells": [Change(name, text, others[name]) for name, text in cells.items() if text],
    }
    if report.time_s and other.time_s:
        change = report.time_s / other.time_s - 1
        found["change"] = time_change(report.time_s, other.time_s)
        found["trend"] = (
            "same" if abs(change) < _LEAST_CHANGE else "slower" if change > 0 else "faster"
        )
        longest_s = max(report.time_s, other.time_s)
        found["bars"] = Bars(
            fraction(report.time_s / longest_s), fraction(other.time_s / longest_s)
        )
    return found


def _units(report: KernelReport) -> list[Unit]:
    """The units of the device with the share of the time that they are busy, the busiest first.

    What is known of their rate is its share of the data sheet's peak: a unit that is busy all the
    time sustains less than that.
    """
    peaks = {"tensor": report.peak_fraction, "dram": report.dram_fraction}
    busy = sorted(report.utilisation.items(), key=lambda item: -item[1])
    return [
        Unit(_UNIT_NAMES.get(name, name), fraction(min(share, 1.0)), _busy(share, peaks.get(name)))
        for name, share in busy
        if share > 0
    ]


def _busy(share: float, peak: float | None) -> str:
    """``55%, 52% of peak``."""
    text = labels.percent(share)
    return text if peak is None else f"{text}, {labels.percent(peak)} of peak"


def _advice(item: Advice, report: KernelReport, cells: CellPlaces) -> AdviceData:
    saving, edit = item.saving_s, item.offered_edit
    share = min(saving / report.time_s, 1.0) if saving and report.time_s else None
    return {
        "rule": item.rule,
        "line": None if item.span.file else item.span.line,
        "place": tables.place(cells.in_cell(item.span)),
        "message": item.message,
        "saving": labels.seconds(saving) if saving else "",
        "share": "" if share is None else labels.percent(share),
        "bar": 0.0 if share is None else fraction(share),
        "edit": None if edit is None else {"title": edit.title, "text": edit.new_text.strip()},
    }
