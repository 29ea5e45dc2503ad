"""Measured times as text: in the lens, and in the hover with all that is known of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.escaping import prose

if TYPE_CHECKING:
    from tirlens.model.report import KernelReport, MeasuredTime

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0
_WEEKS_FROM_DAYS, _MONTHS_FROM_DAYS, _YEARS_FROM_DAYS = 14, 60, 730
_MOST_LISTED = 6


def lens_forms(report: KernelReport, now_s: float | None = None) -> tuple[str, ...]:
    """What a lens says of the time measured on the kernel's device, from the longest form on.

    ``measured 2.61 ms on h100-sxm, 3 days ago, 2 edits since``, then without the device, which is
    at the end of a lens, then without the age.  That the kernel was edited is never left out.
    """
    own = next((item for item in report.measured if item.device_id == report.device_id), None)
    if own is None:
        return ()
    time_s, edited = labels.seconds(own.time_s), edits(own)
    age_text = age(own, now_s)
    device = labels.ascii_(own.device_id)
    return tuple(
        ", ".join(filter(None, parts))
        for parts in (
            (f"measured {time_s} on {device}", age_text, edited),
            (f"measured {time_s} {age_text}", edited),
            (f"measured {time_s}", edited),
        )
    )


def edits(measured: MeasuredTime) -> str:
    """``2 edits since``, ``edited since``, ``perhaps edited since``; empty for the same text."""
    if measured.is_edited is None:
        return "perhaps edited since"
    if not measured.is_edited:
        return ""
    number = "edited" if measured.edits is None else labels.count(measured.edits, "edit")
    return f"{number} since"


def age(measured: MeasuredTime, now_s: float | None = None) -> str:
    """``just now``, ``5 minutes ago``, ``3 days ago``, ``4 months ago``."""
    seconds = (time.time() if now_s is None else now_s) - measured.measured_at_s
    days = int(seconds // _DAY_S)
    if seconds < -_DAY_S:
        return "in the future"
    if seconds < _MINUTE_S:
        return "just now"
    if seconds < _HOUR_S:
        return _ago(int(seconds // _MINUTE_S), "minute")
    if days < 1:
        return _ago(int(seconds // _HOUR_S), "hour")
    if days < _WEEKS_FROM_DAYS:
        return _ago(days, "day")
    if days < _MONTHS_FROM_DAYS:
        return _ago(days // 7, "week")
    if days < _YEARS_FROM_DAYS:
        return _ago(days // 30, "month")
    return _ago(days // 365, "year")


def _ago(number: int, unit: str) -> str:
    return f"{labels.count(number, unit)} ago"


def description(report: KernelReport, now_s: float | None = None) -> str:
    """The sentences of a hover on all stored times of a kernel, in Markdown, a line for each."""
    lines = [_sentence(item, report, now_s) for item in report.measured[:_MOST_LISTED]]
    more = len(report.measured) - _MOST_LISTED
    if more > 0:
        lines.append(f"{more} more on other devices.")
    return "  \n".join(lines)


def _sentence(measured: MeasuredTime, report: KernelReport, now_s: float | None) -> str:
    low_s, high_s, samples = measured.low_s, measured.high_s, measured.samples
    is_spread = low_s is not None and high_s is not None
    spread = f"{labels.seconds(low_s)} to {labels.seconds(high_s)}" if is_spread else ""
    runs = "" if samples is None else labels.count(samples, "run")
    details = ", ".join(filter(None, (spread, runs)))
    where = measured.device_id + (f", {measured.board}" if measured.board else "")
    parts = [
        f"Measured {labels.seconds(measured.time_s)}" + (f" ({details})" if details else ""),
        f"on {prose(where)} by {prose(measured.tool)}",
        age(measured, now_s),
        edits(measured),
        _residual(measured, report),
    ]
    return f"{parts[0]} {', '.join(filter(None, parts[1:]))}."


def _residual(measured: MeasuredTime, report: KernelReport) -> str:
    """The prediction beside a measurement of the same text on the same device."""
    if measured.device_id != report.device_id or measured.is_edited or report.time_s is None:
        return ""
    ratio = labels.number(report.time_s / measured.time_s)
    band = report.time_band_s
    if band is None:
        return f"predicted is {ratio} of it"
    is_inside = band[0] <= measured.time_s <= band[1]
    return f"predicted is {ratio} of it, {'inside' if is_inside else 'outside'} the band"
