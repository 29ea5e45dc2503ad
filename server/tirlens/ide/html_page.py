"""Reports as HTML without scripts: the page of an editor's panel, and parts for other pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tirlens.ide import labels, lenses, roofline_chart, tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirlens.model.report import Advice, BreakdownEntry, KernelReport
    from tirlens_worker.facts import Span

# Colours derive from that of the text, so that the page suits light and dark themes.
_STYLE = """
:root { --faint: color-mix(in srgb, currentColor 18%, transparent); --bar: #4a90d955; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 1.2em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin: 2em 0 .2em; }
h1, h2, p { overflow-wrap: anywhere; } p { margin: .3em 0; }
.verdict { font-weight: 600; } .failed { color: #d64541; } .quiet, .zero { opacity: .65; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em; margin: .6em 0; }
dt { opacity: .65; } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .8em 0; }
th, td { padding: .15em .7em; text-align: right; white-space: nowrap; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid; } td { border-bottom: 1px solid var(--faint); }
td { font-variant-numeric: tabular-nums; } tbody tr:hover { background: #4a90d91a; }
.text { text-align: left; } td.what { white-space: normal; overflow-wrap: anywhere; }
td.what { min-width: 22em; padding-left: calc(.7em + var(--depth) * 1.1em); }
code, pre { font: .93em/1.45 ui-monospace, monospace; }
.share { background: linear-gradient(var(--bar) 0 0) no-repeat left / var(--share) 100%; }
ul { margin: .6em 0; padding-left: 1.4em; } li { overflow-wrap: anywhere; }
td a { text-decoration: none; } td a:hover { text-decoration: underline; }
.roofline { max-width: 100%; height: auto; display: block; }
"""


def page(title: str, reports: Sequence[KernelReport], problems: Sequence[tuple[int, str]]) -> str:
    """The report of a file for an editor's panel; `problems` are lines and messages."""
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [
        f'<p class="failed">{_link(f"line {line}", line, "")}: {escape(message)}</p>'
        for line, message in problems
    ]
    parts.append(roofline_chart.svg(reports))
    for report in reports:
        here = _link(f"line {report.span.line}", report.span.line, "")
        parts.append(f"<h2>{escape(labels.title(report))}, {here}</h2>")
        parts.append(body(report, lenses.lens(report)))
    return document(title, parts)


def document(title: str, parts: Iterable[str], style: str = "") -> str:
    """A document of these parts; `style` follows the rules that all pages share."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head>\n"
        "<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def body(report: KernelReport, verdict: str, source: str = "") -> str:
    """The part of a page about one kernel, without its heading.

    Lines are links to ``#<source>12``.  Their ``data-line`` has the number for scripts of a client.
    """
    if not report.has_counts:
        return f'<p class="failed">{escape(verdict)}</p>'
    parts = [f'<p class="verdict">{escape(verdict)}</p>']
    if report.bound_reason:
        parts.append(f"<p>{escape(report.bound_reason)}</p>")
    named = "".join(
        f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in tables.particulars(report)
    )
    parts.append(f"<dl>{named}</dl>")
    rows = [_row(cost, depth, source) for depth, cost in report.walk()]
    if rows:
        head = '<th class="text">line</th><th class="text">where</th>'
        parts.append(table(head + headings(tables.LINE_COLUMNS), rows))
    notes = [_advice(item, source) for item in report.advice]
    notes += dict.fromkeys(escape(item.message) for item in report.caveats)
    parts.append(bullet_list(notes))
    return "\n".join(part for part in parts if part)


def table(head: str, rows: Iterable[str]) -> str:
    """A table that scrolls sideways where it is wider than the page."""
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        "<tbody>" + "\n".join(rows) + "</tbody></table></div>"
    )


def headings(names: Iterable[str]) -> str:
    """The heads of columns."""
    return "".join(f"<th{_text(name)}>{name}</th>" for name in names)


def cells(names: Iterable[str], texts: Iterable[str], share: float | None) -> str:
    """The cells under `names`, with a bar of length `share` in the background of the time."""
    out: list[str] = []
    for name, text in zip(names, texts, strict=True):
        if name == "time" and share:
            out.append(f'<td class="share" style="--share:{min(share, 1):.1%}">{text}</td>')
        elif text.startswith("0 "):
            out.append(f'<td class="zero">{text}</td>')
        else:
            out.append(f"<td{_text(name)}>{escape(text)}</td>")
    return "".join(out)


def bullet_list(items: Sequence[str]) -> str:
    """A list of HTML fragments; empty if there are none."""
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else ""


def _text(column: str) -> str:
    return ' class="text"' if column in tables.WORDS else ""


def _row(cost: BreakdownEntry, depth: int, source: str) -> str:
    what = escape(" ".join(cost.label.split()))
    return (
        f'<tr><td class="text">{_place(cost.span, source)}</td>'
        f'<td class="text what" style="--depth:{depth}"><code>{what}</code></td>'
        f"{cells(tables.LINE_COLUMNS, tables.line_cells(cost), cost.share)}</tr>"
    )


def _advice(item: Advice, source: str) -> str:
    return (
        f"line {_place(item.span, source)}: {escape(labels.advice(item))} "
        f'<span class="quiet">{escape(item.rule)}</span>'
    )


def _place(span: Span, source: str) -> str:
    place = escape(tables.place(span))
    return place if span.file else _link(place, span.line, source)


def _link(text: str, line: int, source: str) -> str:
    return f'<a href="#{source}{line}" data-line="{line}">{text}</a>'
