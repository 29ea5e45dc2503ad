"""A self-contained HTML page: rooflines, the kernels, and each source line with its cost."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from tirlens.cli.rows import Selection, figures_of, rows
from tirlens.cli.table import figures, ok
from tirlens.ide import labels, lenses, roofline
from tirlens.model.report import Cost, KernelReport
from tirlens.pipeline import FileReport
from tirlens.version import __version__

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --accent: #2a78d6; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin: 2.5rem 0 0.25rem; } .verdict { font-weight: 600; } .facts { opacity: 0.75; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 0.15rem 0.6rem; border-bottom: 1px solid var(--line); }
th, td { white-space: nowrap; } td:nth-child(3) { white-space: normal; }
th:nth-child(3), td:nth-child(3), th:last-child, td:last-child { text-align: left; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
.scroll { overflow-x: auto; }
.source { display: grid; grid-template-columns: max-content max-content 1fr; white-space: pre; }
.source > span { padding: 0 0.75rem; } .number { opacity: 0.5; text-align: right; }
.cost { text-align: right; color: var(--accent); border-right: 1px solid var(--line); }
.roofline { max-width: 100%; height: auto; display: block; }
"""


def page(
    reports: Iterable[FileReport],
    texts: Mapping[str, str],
    by_device: Mapping[str, Sequence[KernelReport]],
) -> str:
    """The page for some files; `texts` are their sources by path.

    `by_device` are the kernels that have a place under a roofline, by the device's name.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>TIRLens report</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body><h1>TIRLens report</h1>",
    ]
    for device, kernels in by_device.items():
        parts += [f"<h2>Roofline of {_text(device)}</h2>", roofline.svg(kernels)]
    for file in reports:
        for kernel in file.kernels:
            parts += _kernel(kernel, file.path)
        parts += _problems(file)
        parts += _source(file, texts.get(file.path, ""))
    parts.append(f"<p class=facts>Written by tirlens {__version__}.</p></body></html>")
    return "\n".join(parts) + "\n"


def _kernel(kernel: KernelReport, path: str) -> list[str]:
    out = [
        f"<h2>{_text(labels.title(kernel))}</h2>",
        f"<p class=facts><code>{_text(path)}:{kernel.span.line}</code></p>",
        f"<p class=verdict>{_text(lenses.lens(kernel))}</p>",
    ]
    if not ok(kernel):
        return out
    out.append("<p class=facts>" + "<br>".join(map(_text, figures(kernel))) + "</p>")
    head = ("id", "line", "where", "trips", "time", "share", "FLOP", "global", "DRAM", "bound")
    out.append("<div class=scroll><table><thead><tr>")
    out.append("".join(f"<th>{name}</th>" for name in head) + "</tr></thead><tbody>")
    for row in rows(kernel, Selection()):
        cost = row.cost
        indent = "&nbsp;" * 3 * row.depth
        cells = (
            str(row.number),
            str(cost.span.line),
            f"{indent}<code>{_text(cost.label)}</code>",
            *map(_text, figures_of(cost)),
        )
        out.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    out.append("</tbody></table></div>")
    notes = [
        f"<b>{_text(item.rule)}</b>, line {item.span.line}: {_text(labels.advice(item))}"
        for item in kernel.advice
    ]
    notes += [_text(item.message) for item in kernel.caveats]
    if notes:
        out.append("<ul>" + "".join(f"<li>{note}</li>" for note in notes) + "</ul>")
    return out


def _problems(file: FileReport) -> list[str]:
    found = [
        f"line {problem.span.line if problem.span else 1}: {problem.kind}: {problem.message}"
        for problem in file.problems
    ]
    found += [f"{item.kernel} needs {', '.join(item.names)}" for item in file.needs]
    return (
        ["<ul>" + "".join(f"<li>{_text(item)}</li>" for item in found) + "</ul>"] if found else []
    )


def _source(file: FileReport, text: str) -> list[str]:
    """The source with the time and share of each line that has one."""
    if not text or not file.kernels:
        return []
    costs: dict[int, str] = {}
    for kernel in file.kernels:
        for cost in _all(kernel.loops):
            if cost.span.file is None and cost.kind not in ("launch", "tail") and cost.time_s:
                shown = f"{labels.seconds(cost.time_s)} {labels.percent(cost.share)}"
                costs.setdefault(cost.span.line, shown)
    out = [f"<h2><code>{_text(file.path)}</code></h2><div class=scroll><pre class=source>"]
    cells = (
        f"<span class=number>{number}</span>"
        f"<span class=cost>{_text(costs.get(number, ''))}</span><span>{_text(line) or ' '}</span>"
        for number, line in enumerate(text.splitlines(), 1)
    )
    return [*out, "".join(cells), "</pre></div>"]


def _all(costs: tuple[Cost, ...]) -> Iterable[Cost]:
    for cost in costs:
        yield cost
        yield from _all(cost.children)


def _text(value: str) -> str:
    return html.escape(" ".join(value.split()) if "\n" in value else value)
