"""Regenerate the figures of the accuracy pages: ``python tests/measured/accuracy_page.py``.

In ``server/docs`` it writes ``accuracy-scatter.svg`` (predicted over measured time, one panel per
source), ``accuracy-families.svg`` (the ratio of the two by family), the summaries between the marks
of ``accuracy.md`` and the listing between the marks of ``accuracy-rows.md``; in the model, the
measured kinds of kernels (`measured.kinds`).
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from measured import kinds, tiers  # noqa: E402
from measured.figures import APART, Figures, figures  # noqa: E402
from measured.predict import Scored, Scores, scores  # noqa: E402
from measured.score import as_data, print_tables  # noqa: E402

BEGIN, END = "<!-- scores -->", "<!-- end of scores -->"
BEGIN_TIERS, END_TIERS = "<!-- tiers -->", "<!-- end of tiers -->"
# The rows of the summary: what was measured, and what the names of its sources begin with.
SUMMARY = {
    "tilelang kernels of TileOPs, H200 at 1500 MHz": ("tileops",),
    "tilelang's own examples, H100": ("h100_examples",),
    "TVMScript kernels of TIRx, B200": ("tirx_kernels",),
    "tilelang fp8 products and mamba2, H800": ("tilelang_fp8", "tilelang_mamba2"),
    "torch in fp32, eight NVIDIA GPUs": ("neusight",),
    "torch in fp16, A100 and MI210": ("llmcompass",),
    "public benchmarks, 14 GPUs": ("board_",),
    "steps of tutorials, 7 GPUs": ("tutorial_",),
    "all": ("",),
}

DOCS = HERE.parents[1] / "server" / "docs"
KINDS = HERE.parents[1] / "server/tirlens/model/reporting/measured_kinds.toml"

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
COLOURS = {
    "tensor GEMM": "#d55e00",
    "SIMT GEMM": "#e69f00",
    "attention": "#cc79a7",
    "elementwise": "#0072b2",
    "reduction and norm": "#009e73",
    "scan": "#56b4e9",
    "MoE": "#8a6d3b",
    "tiny": "#999999",
}
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#24292f}.grid{stroke:#d8dee4}.axis{stroke:#57606a}"
    ".dot,.hole{stroke-linecap:round;stroke-width:5}.hole{stroke:#fff;stroke-width:2.6}"
    ".band{fill:#ddf4ff;stroke:none}.title{font-weight:600;font-size:12px}"
)


Row = Mapping[str, Any]
# Title, decades of microseconds, rows.
PANELS: tuple[tuple[str, tuple[int, int], Callable[[Row], bool]], ...] = (
    (
        "tilelang kernels of TileOPs, H200 at 1500 MHz",
        (0, 4),
        lambda row: row["source"] == "tileops",
    ),
    ("TVMScript kernels of TIRx, B200", (0, 5), lambda row: row["source"] == "tirx_kernels"),
    (
        "library and benchmark kernels, all boards",
        (1, 6),
        lambda row: (
            row["source"] not in ("tileops", "tirx_kernels") and row["klass"] != "ranked only"
        ),
    ),
)


def scatter(rows: Sequence[Row]) -> str:
    """Predicted over measured microseconds, both logarithmic; held-out rows are filled."""
    side, left, top, gap = 300, 52, 34, 64
    parts: list[str] = []
    for number, (title, (low, high), chosen) in enumerate(PANELS):

        def place(seconds: float, low: int = low, high: int = high) -> float:
            share = (math.log10(seconds * 1e6) - low) / (high - low)
            return min(max(share, 0.0), 1.0) * side

        x, y = left + number * (side + gap), top
        # The band from a quarter too fast to a quarter too slow.
        down, up = (math.log10(factor) / (high - low) * side for factor in (0.75, 1.25))
        points = ((0, 0), (0, up), (side - up, side), (side, side), (side, side + down), (-down, 0))
        path = " ".join(f"{x + px:.1f},{y + side - py:.1f}" for px, py in points)
        parts.append(f'<polygon class="band" points="{path}"/>')
        for decade in range(low, high + 1):
            at = (decade - low) / (high - low) * side
            name = ("1 us", "10 us", "0.1 ms", "1 ms", "10 ms", "0.1 s", "1 s")[decade]
            across, up_to = x + at, y + side - at
            parts += [
                _line("grid", across, y, across, y + side),
                _line("grid", x, up_to, x + side, up_to),
                f'<text x="{across:.1f}" y="{y + side + 15}" text-anchor="middle">{name}</text>',
                f'<text x="{x - 6}" y="{up_to + 4:.1f}" text-anchor="end">{name}</text>',
            ]
        parts.append(_line("axis", x, y + side, x + side, y))
        parts.append(f'<text class="title" x="{x}" y="{y - 12}">{escape(title)}</text>')
        for klass, colour in COLOURS.items():
            for half in ("fitted", "held out"):
                dots = "".join(
                    f"M{x + place(row['measured_s']):.0f} {y + side - place(row['model_s']):.0f}h0"
                    for row in rows
                    if chosen(row) and row["klass"] == klass and row["half"] == half
                )
                if dots:
                    parts.append(f'<path class="dot" d="{dots}" stroke="{colour}"/>')
                if dots and half == "fitted":
                    parts.append(f'<path class="hole" d="{dots}"/>')
    bottom = top + side + 34
    parts.append(
        f'<text x="{left}" y="{bottom}">x: measured time, y: predicted time; shaded: within 25 %; '
        "filled: held out, hollow: fitted</text>"
    )
    present = [klass for klass in COLOURS if any(row["klass"] == klass for row in rows)]
    at = left
    for klass in present:
        parts.append(f'<circle cx="{at + 4}" cy="{bottom + 18}" r="4" fill="{COLOURS[klass]}"/>')
        parts.append(f'<text x="{at + 13}" y="{bottom + 22}">{klass}</text>')
        at += 32 + 6.2 * len(klass)
    width = left + len(PANELS) * (side + gap) - gap + 16
    return _picture(width, bottom + 34, parts)


def families(rows: Sequence[Row]) -> str:
    """The ratio predicted / measured of each family: median, and from the 10th to 90th percent."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row["klass"] not in APART:
            key = row["half"], row["device_id"], row["family"]
            groups.setdefault(key, []).append(row["model_s"] / row["measured_s"])
    left, top, wide, high = 350, 30, 520, 17
    low, top_ratio = math.log2(0.25), math.log2(4.0)

    def place(ratio: float) -> float:
        share = (math.log2(ratio) - low) / (top_ratio - low)
        return left + min(max(share, 0.0), 1.0) * wide

    bar = 'stroke-width="3" stroke-opacity="0.45"'
    parts = list(_ruler(place, top, top + high * (len(groups) + 2)))
    y = top + 6
    for half in ("held out", "fitted"):
        parts.append(f'<text class="title" x="8" y="{y + 11}">{half}</text>')
        y += high
        for (group_half, device, family), ratios in sorted(groups.items()):
            if group_half != half:
                continue
            ratios.sort()
            ten, ninety = (ratios[round(share * (len(ratios) - 1))] for share in (0.1, 0.9))
            middle = ratios[len(ratios) // 2]
            off = not 0.8 <= middle <= 1.25
            colour = "#d55e00" if off else "#0072b2"
            name = escape(f"{device}  {family} ({len(ratios)})")
            start, end = f"{place(ten):.1f}", f"{place(ninety):.1f}"
            parts += [
                f'<text x="{left - 10}" y="{y + 11}" text-anchor="end">{name}</text>',
                f'<path d="M{start} {y + 7}H{end}" stroke="{colour}" {bar}/>',
                f'<circle cx="{place(middle):.1f}" cy="{y + 7}" r="3.6" fill="{colour}"/>',
            ]
            y += high
    return _picture(left + wide + 24, y + 26, parts)


def _ruler(place: Callable[[float], float], top: float, bottom: float) -> Iterator[str]:
    yield (
        f'<rect class="band" x="{place(0.8):.1f}" y="{top}" '
        f'width="{place(1.25) - place(0.8):.1f}" height="{bottom - top}"/>'
    )
    names = {0.25: "1/4", 0.5: "1/2", 1.0: "predicted = measured", 2.0: "2x", 4.0: "4x"}
    for ratio, name in names.items():
        kind = "axis" if ratio == 1.0 else "grid"
        x = place(ratio)
        yield _line(kind, x, top, x, bottom)
        yield f'<text x="{x:.1f}" y="{top - 8}" text-anchor="middle">{name}</text>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def _picture(width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}"><style>{STYLE}</style>'
        '<rect width="100%" height="100%" fill="#ffffff"/>' + "\n".join(parts) + "</svg>\n"
    )


def summary(rows: Sequence[Scored]) -> str:
    """The errors of the held-out rows by what was measured, as a table in Markdown."""
    columns = "rows", "mean error", "median error", "in the band", "order (tau)", "roofline's error"
    lines = [f"| held-out kernels | {' | '.join(columns)} |", "|---" + "|--:" * len(columns) + "|"]
    known = [
        row
        for row in rows
        if row.measurement.half == "held out" and row.measurement.klass not in APART
    ]
    for name, prefixes in SUMMARY.items():
        group = [row for row in known if row.measurement.source.startswith(prefixes)]
        lines.append(f"| {name} | {_cells(figures(group))} |")
    return "\n".join(lines)


def _cells(found: Figures) -> str:
    sheet = "" if found.sheet is None else f"{found.sheet:.0%}"
    tau = "" if found.tau is None else f"{found.tau:.2f}"
    errors = found.errors
    return (
        f"{errors.number} | {errors.mape:.1%} | {errors.median:.1%} | {found.inside_band:.0%} "
        f"| {tau} | {sheet}"
    )


def renewed(page: str, text: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """The page with `text` between its two marks."""
    first, last = marks
    head, _, rest = page.partition(first)
    _, end, tail = rest.partition(last)
    if not end:
        raise ValueError(f"the page has no {first} ... {last}")
    return f"{head}{first}\n{text.strip()}\n{last}{tail}"


def pages(found: Scores) -> dict[Path, str]:
    """The contents of all files that are regenerated."""
    data = as_data(found)
    rows = [{**row["measurement"], "model_s": row["model_s"]} for row in data["rows"]]
    listing = io.StringIO()
    with contextlib.redirect_stdout(listing):
        print_tables(found)
    rows_page = DOCS / "accuracy-rows.md"
    accuracy = renewed(
        (DOCS / "accuracy.md").read_text(encoding="utf-8"),
        tiers.table(list(tiers.rows(tiers.HELD_OUT))),
        (BEGIN_TIERS, END_TIERS),
    )
    return {
        DOCS / "accuracy.md": renewed(accuracy, summary(found.rows)),
        DOCS / "accuracy-scatter.svg": scatter(rows),
        DOCS / "accuracy-families.svg": families(rows),
        KINDS: kinds.table((*kinds.gpu_rows(found.rows), *kinds.cpu_rows())),
        rows_page: renewed(
            rows_page.read_text(encoding="utf-8"), f"```\n{listing.getvalue().strip()}\n```"
        ),
    }


def main() -> None:
    for path, text in pages(scores()).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
