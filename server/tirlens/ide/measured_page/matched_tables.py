"""Measured kernels beside the predictions of those of the workspace, as tables of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.ide import labels
from tirlens.ide.measured_page.table_data import Cell, Column, TableView
from tirlens.measured.groups import Group
from tirlens.measured.matching.outcomes import Ambiguous, Unmatched
from tirlens.measured.matching.residuals import BandPosition, Residual

_VERDICTS: dict[BandPosition | None, str] = {
    "inside": "in the band",
    "above": "slower",
    "below": "faster",
    None: "?",
}


@dataclass(frozen=True)
class MatchedKernel:
    """A matched kernel, and in words why its time is outside the band, or what is doubtful."""

    residual: Residual
    reasons: Sequence[str] = ()


def matched_table(kernels: Sequence[MatchedKernel], note: str) -> TableView:
    """A row for each matched kernel; below it why its time is not the predicted one."""
    has_devices = len({one.residual.device_id for one in kernels}) > 1
    columns = [
        Column("kernel", "text"),
        *([Column("device", "text")] if has_devices else []),
        Column("measured", about="the median of all executions, or their mean where a row sums"),
        Column("predicted", about="the model's time on the device of the trace"),
        Column("pred/meas", about="predicted over measured time"),
        Column("verdict", "text", "the measured time beside the band"),
        Column("band", "text", "the times between which the model expects it"),
        Column("roofline", about="the least time at the device's rates for the counted work"),
        Column("10-90%", "text", "percentiles of the executions"),
        Column("executions"),
        Column("matched by", "text"),
    ]
    rows = [_row(one.residual, has_devices) for one in kernels]
    details = ["; ".join(one.reasons) for one in kernels]
    return TableView("Measured beside predicted", columns, rows, note=note, details=details)


def unmatched_table(ambiguous: Sequence[Ambiguous], unmatched: Sequence[Unmatched]) -> TableView:
    """The measured kernels without a prediction, and why none is chosen."""
    listed = [
        *((one.group, "ambiguous", f"{one.reason}: {'; '.join(one.titles)}") for one in ambiguous),
        *((one.group, "not matched", one.reason) for one in unmatched),
    ]
    columns = [
        Column("kernel", "text"),
        Column("executions"),
        Column("time", about="the sum of all executions"),
        Column("match", "text"),
    ]
    rows = [_row_without(group, match) for group, match, _ in listed]
    return TableView(
        "Without a prediction", columns, rows, details=[reason for _, _, reason in listed]
    )


def _row(one: Residual, has_devices: bool) -> list[Cell]:
    time = one.match.group.time
    low, high = time.quantile(0.1), time.quantile(0.9)
    return [
        one.match.title,
        *([one.device_id] if has_devices else []),
        _seconds(one.measured_s),
        _seconds(one.predicted_s),
        (labels.number(one.ratio), one.ratio),
        _VERDICTS[one.in_band],
        _range(one.band_s),
        _seconds(one.roofline_s),
        _range(None if low is None or high is None or low == high else (low, high)),
        (f"{one.executions:,}", one.executions),
        ", ".join(one.match.evidence),
    ]


def _row_without(group: Group, match: str) -> list[Cell]:
    time_s = group.time.total if group.time.count else None
    return [
        "further kernels" if group.identity is None else group.identity.title,
        (f"{group.executions:,}", group.executions),
        ("" if time_s is None else labels.seconds(time_s), time_s),
        match,
    ]


def _seconds(value: float | None) -> Cell:
    return ("?" if value is None else labels.seconds(value), value)


def _range(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{labels.seconds(ends[0])} - {labels.seconds(ends[1])}"
