"""Residuals as a table, CSV, JSON and Markdown."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens.cli.output import console, write_json
from tirlens.ide import labels
from tirlens.ide.escaping import code, csv_cell, prose
from tirlens.measured.matching.residuals import band_position
from tirlens.measured.mechanisms import Mechanism

_HEADINGS = ("kernel", "on", "runs", "measured", "predicted", "band", "pred/meas", "why")
COLUMNS = (
    "kernel", "device", "executions", "measured_s", "predicted_s", "band_low_s", "band_high_s",
    "ratio", "in_band", "mechanisms", "evidence", "missing", "predicted_when_written_s",
    "written_by",
)  # fmt: skip


@dataclass(frozen=True)
class ResidualRow:
    """A measured kernel beside its prediction.

    `missing` is what a residual outside the band lacks for a mechanism.  `written_s` is the
    prediction in a bundle, by the version `written_by`.
    """

    title: str
    device_id: str
    executions: int
    measured_s: float | None
    predicted_s: float | None
    band_s: tuple[float, float] | None
    mechanisms: tuple[Mechanism, ...]
    missing: str = ""
    written_s: float | None = None
    written_by: str = ""
    notes: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Predicted over measured time."""
        if self.predicted_s is None or not self.measured_s:
            return None
        return self.predicted_s / self.measured_s

    @property
    def is_outside(self) -> bool:
        """Whether the measured time is outside the band."""
        return band_position(self.measured_s, self.band_s) in ("above", "below")


def with_missing(row: ResidualRow, missing: str) -> ResidualRow:
    """The row of a kernel that has no prediction."""
    return replace(row, mechanisms=(), missing=missing)


def write(out: TextIO, rows: Sequence[ResidualRow], kind: str, color: bool | None) -> None:
    """Write `rows` to `out` in the format `kind`; `color` is for tables alone."""
    if kind == "json":
        write_json(out, {"schema_version": 1, "residuals": [_json(row) for row in rows]})
    elif kind == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow(map(csv_cell, _csv_row(row)))
    elif kind == "markdown":
        out.write(_markdown(rows))
    else:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        for name in _HEADINGS:
            justify = "right" if name in _HEADINGS[2:7] else "left"
            table.add_column(name, justify=justify, overflow="fold", no_wrap=name == "measured")
        for row in rows:
            style = "yellow" if row.is_outside else ""
            table.add_row(*(Text(_line(cell)) for cell in _cells(row)), style=style)
        console(out, color).print(table)


def _line(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _cells(row: ResidualRow) -> tuple[str, ...]:
    band = row.band_s
    return (
        " ".join(row.title.split()),
        row.device_id,
        f"{row.executions:,}",
        labels.seconds(row.measured_s),
        labels.seconds(row.predicted_s),
        f"{labels.seconds(band[0])} - {labels.seconds(band[1])}" if band else "",
        labels.number(row.ratio),
        "\n".join(_reasons(row)),
    )


def _reasons(row: ResidualRow) -> list[str]:
    """The mechanisms, or what is missing; of a bundle also how the prediction has changed."""
    out = [mechanism.text for mechanism in row.mechanisms]
    if row.missing:
        out.append(row.missing)
    elif not row.mechanisms:
        out.append("in the band")
    out += row.notes
    if row.written_s is not None and row.predicted_s is not None:
        before = labels.seconds(row.written_s)
        if before != labels.seconds(row.predicted_s):
            out.append(f"predicted {before} by TIRLens {row.written_by}")
    return out


def _markdown(rows: Sequence[ResidualRow]) -> str:
    lines = ["**TIRLens:** measured and predicted times\n\n"]
    lines.append(f"| {' | '.join(_HEADINGS)} |\n")
    lines.append("|:---|:---|---:|---:|---:|---:|---:|:---|\n")
    for row in rows:
        title, *figures, _ = _cells(row)
        why = "<br>".join(map(prose, _reasons(row)))
        lines.append(f"| {code(title)} | {' | '.join(map(prose, figures))} | {why} |\n")
    return "".join(lines)


def _json(row: ResidualRow) -> dict[str, Any]:
    return {
        "kernel": row.title,
        "device": row.device_id,
        "executions": row.executions,
        "measured_s": row.measured_s,
        "predicted_s": row.predicted_s,
        "predicted_band_s": row.band_s,
        "ratio": row.ratio,
        "in_band": band_position(row.measured_s, row.band_s),
        "mechanisms": [mechanism_json(mechanism) for mechanism in row.mechanisms],
        "missing": row.missing,
        "notes": list(row.notes),
        "predicted_when_written_s": row.written_s,
        "written_by": row.written_by,
    }


def mechanism_json(mechanism: Mechanism) -> dict[str, Any]:
    """A mechanism with its figures in SI units."""
    return {
        "name": mechanism.name,
        "evidence": mechanism.text,
        "measured": mechanism.measured,
        "predicted": mechanism.predicted,
        "unit": mechanism.unit,
        "counters": list(mechanism.counters),
    }


def _csv_row(row: ResidualRow) -> tuple[object, ...]:
    low, high = row.band_s or (None, None)
    return (
        row.title,
        row.device_id,
        row.executions,
        row.measured_s,
        row.predicted_s,
        low,
        high,
        row.ratio,
        band_position(row.measured_s, row.band_s),
        " ".join(mechanism.name for mechanism in row.mechanisms),
        "; ".join(mechanism.text for mechanism in row.mechanisms),
        row.missing,
        row.written_s,
        row.written_by,
    )
