"""Two measured runs as data: JSON, CSV and SARIF."""

from __future__ import annotations

import csv
from typing import Any, TextIO

from tirlens.cli import sarif
from tirlens.cli.measured.changes.report import MeasuredChangeReport
from tirlens.cli.measured.changes.text import arguments, dimensions, explanation, launch
from tirlens.gate.measured_changes import MeasuredChange
from tirlens.ide.escaping import csv_cell
from tirlens.measured.runs.comparison import Totals
from tirlens.measured.runs.significance import (
    CHANCE,
    probability_of_chance,
)

COLUMNS = (
    "operation", "kind", "grid", "block", "arguments", "relation", "operation_before",
    "executions_before", "executions", "time_before_s", "deviation_before_s", "samples_before",
    "time_s", "deviation_s", "samples", "spread_of", "time_growth", "chance", "total_before_s",
    "total_s", "gap_before_s", "gap_s", "dram_before_bytes", "dram_bytes", "verdicts", "file",
    "row",
)  # fmt: skip


def write_csv(out: TextIO, report: MeasuredChangeReport) -> None:
    """A row for each operation, with the names of `COLUMNS`."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in report.changes:
        data = _row_json(item, report)
        data["verdicts"] = " ".join(item.verdicts)
        writer.writerow(csv_cell(data[name]) for name in COLUMNS)


def document(report: MeasuredChangeReport) -> dict[str, Any]:
    """The JSON of both runs, in SI units."""
    comparison = report.comparison
    return {
        "schema_version": 1,
        "measured": {
            "before": _totals_json(comparison.before),
            "now": _totals_json(comparison.now),
        },
        "limits": {"time": report.limits.time, "dram": report.limits.dram},
        "chance_limit": CHANCE,
        "uncompared": len(report.uncompared),
        "notes": list(report.notes),
        "changes": [
            {
                **_row_json(item, report),
                "verdict": item.change.verdict,
                "refused": item in report.refused,
                "uncompared": item.is_uncompared,
            }
            for item in report.changes
        ],
    }


def _row_json(item: MeasuredChange, report: MeasuredChangeReport) -> dict[str, Any]:
    """The figures of an operation by the names of `COLUMNS`."""
    change = item.change
    operation = change.operation
    before, now = change.before, change.now
    old, new = before and before.sample, now and now.sample
    spreads = [sample.source for sample in (old, new) if sample is not None and sample.source]
    is_tested = change.is_compared and old is not None and new is not None
    chance = probability_of_chance(old, new) if is_tested and old and new else None
    return {
        "operation": operation.name,
        "kind": operation.kind,
        "grid": dimensions(operation.grid) or None,
        "block": dimensions(operation.block) or None,
        "arguments": operation.attributes.get("call") or arguments(operation) or None,
        "relation": change.relation,
        "operation_before": before.first.name if before else None,
        "executions_before": before.executions if before else None,
        "executions": now.executions if now else None,
        "time_before_s": old.mean_s if old else None,
        "deviation_before_s": old.deviation_s if old else None,
        "samples_before": old.count if old else None,
        "time_s": new.mean_s if new else None,
        "deviation_s": new.deviation_s if new else None,
        "samples": new.count if new else None,
        "spread_of": " ".join(dict.fromkeys(spreads)) or None,
        "time_growth": change.time_growth,
        "chance": chance,
        "total_before_s": before.total_s if before else None,
        "total_s": now.total_s if now else None,
        "gap_before_s": before.gap_s if before else None,
        "gap_s": now.gap_s if now else None,
        "dram_before_bytes": before.dram_bytes if before else None,
        "dram_bytes": now.dram_bytes if now else None,
        "verdicts": list(item.verdicts),
        "file": operation.position.path,
        "row": operation.position.row,
    }


def _totals_json(side: Totals) -> dict[str, Any]:
    return {
        "files": list(side.paths),
        "runs": side.runs,
        "devices": sorted(side.devices),
        "operations": side.operations,
        "time_s": side.time and side.time.mean_s,
        "deviation_s": side.time and side.time.deviation_s,
        "gap_s": side.gap_s,
    }


def sarif_document(report: MeasuredChangeReport) -> dict[str, Any]:
    """What the gate refuses, as SARIF."""
    return sarif.document(
        [
            sarif.result(
                _rule_id(item),
                "error",
                explanation(item),
                *report.location(item),
                f"{item.change.operation.name} {launch(item.change.operation)}",
            )
            for item in report.refused
        ]
    )


def _rule_id(item: MeasuredChange) -> str:
    return f"measured-{item.verdicts[0] if item.is_refused else 'uncompared'}"
