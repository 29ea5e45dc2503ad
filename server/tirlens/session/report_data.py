"""The report of an open document as JSON: the contract's, and what each time is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirlens.ide.history import sparkline
from tirlens.ide.line_changes import line_changes
from tirlens.ide.line_map import LineMap

if TYPE_CHECKING:
    from tirlens.hardware import Device
    from tirlens.ide.history import Comparison
    from tirlens.model.report import KernelReport
    from tirlens.session.analysis import Analysis


def report_json(analysis: Analysis, device: Device) -> dict[str, Any]:
    """The contract's document; its kernels have their ``history``, see `history_json`."""
    from tirlens import pipeline

    found = pipeline.to_json([analysis.report], device)
    # Entries after those of the reports are of kernels without arguments.
    for entry, report in zip(found["kernels"], analysis.report.kernels, strict=False):
        entry["history"] = history_json(analysis, report)
    return found


def history_json(analysis: Analysis, report: KernelReport) -> dict[str, Any]:
    """What the time of a kernel is compared with.

    Returns
    -------
    ``saves`` with ``time_s``, ``saved_at_s`` (Unix time) and ``version`` of each text, the present
    one last; ``sparkline`` of them; ``last_save`` and ``baseline``, each null or with ``name``,
    ``time_s``, ``now_s`` (what the time is compared with: of an earlier tier where the earlier text
    has no other) and ``lines``: where the difference is from, the largest first.
    """
    history = analysis.history_of(report)
    return {
        "saves": [
            {"time_s": item.time_s, "saved_at_s": item.saved_at_s, "version": item.version}
            for item in history.saves
        ],
        "sparkline": sparkline([item.time_s for item in history.saves]),
        "last_save": _comparison(analysis, report, history.last_save),
        "baseline": _comparison(analysis, report, history.baseline),
    }


def _comparison(
    analysis: Analysis, report: KernelReport, comparison: Comparison | None
) -> dict[str, Any] | None:
    if comparison is None:
        return None
    lines = LineMap.between(comparison.lines, analysis.reading.lines)
    now = comparison.earlier_tier or report
    return {
        "name": comparison.name,
        "time_s": comparison.time_s,
        "now_s": now.time_s,
        "lines": [
            {
                "line": item.line,
                "line_before": item.line_before,
                "before_s": item.before_s,
                "time_s": item.time_s,
            }
            for item in line_changes(comparison.before, now, lines)
        ],
    }
