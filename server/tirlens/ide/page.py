"""The report of a file as one HTML document without scripts, for an editor's panel."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tirlens.ide import labels, lenses, roofline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirlens.model.report import Cost, KernelReport

_STYLE = """
body { font-family: sans-serif; margin: 1.2em; }
table { border-collapse: collapse; margin: .6em 0 1.4em; }
th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #8884; }
th, td { white-space: pre; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
.roofline { max-width: 100%; height: auto; }
.bar { display: inline-block; height: .7em; background: #4a90d9; }
"""
_HEAD = ("line", "what", "time", "share", "", "trips", "FLOP", "issued", "DRAM", "bound")


def page(title: str, reports: Sequence[KernelReport], problems: Sequence[tuple[int, str]]) -> str:
    """The document; `problems` are lines and messages.  Lines are ``<a data-line="12">``."""
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [f"<p>{_line(line)}: {escape(message)}</p>" for line, message in problems]
    parts.append(roofline.svg(reports))
    for report in reports:
        parts.append(f"<h2>{escape(report.name)} {_line(report.span.line)}</h2>")
        parts.append(f"<p>{escape(lenses.lens(report))}</p>")
        if report.bound_reason:
            parts.append(f"<p>{escape(report.bound_reason)}</p>")
        rows = "".join(_row(cost, depth) for depth, cost in _walk(report.loops, 0))
        head = "".join(f"<th>{name}</th>" for name in _HEAD[1:])
        if rows:
            parts.append(f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>')
        notes = [
            f"{_line(item.span.line)}: {escape(labels.advice(item))}" for item in report.advice
        ]
        notes += dict.fromkeys(escape(item.message) for item in report.caveats)
        if notes:
            items = "".join(f"<li>{note}</li>" for note in notes)
            parts.append(f"<ul>{items}</ul>")
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _walk(costs: Sequence[Cost], depth: int) -> Iterator[tuple[int, Cost]]:
    for cost in costs:
        yield depth, cost
        yield from _walk(cost.children, depth + 1)


def _line(line: int) -> str:
    return f'<a href="#" data-line="{line}">line {line}</a>'


def _row(cost: Cost, depth: int) -> str:
    width = round(100 * min(1.0, max(0.0, cost.share or 0)))
    place = _line(cost.span.line) if cost.span.file is None else ""
    cells = (
        f"{'  ' * depth}{escape(cost.label)} {place}",
        labels.spent(cost),
        escape(labels.percent(cost.share)),
        f'<span class="bar" style="width:{width}px"></span>',
        labels.number(cost.trips) if cost.trips is not None else "",
        labels.flop(cost.flop),
        labels.bytes_(cost.global_bytes),
        labels.bytes_(cost.dram_bytes),
        escape(cost.bound or ""),
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
