"""A self-contained HTML page: all kernels, rooflines, each kernel, and what each line costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import PurePath

from tirlens.cli.rows import verdict
from tirlens.ide import labels, roofline_chart, tables
from tirlens.ide.html_page import body, bullet_list, cells, document, headings, table
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens.version import __version__

_STYLE = """
:root { color-scheme: light dark; }
body { max-width: 90rem; margin: 2rem auto; padding: 0 1rem; }
.source { display: grid; grid-template-columns: max-content max-content 1fr; white-space: pre; }
.source > span { padding: 0 .75rem; } .number { opacity: .5; text-align: right; }
.cost { text-align: right; border-right: 1px solid var(--faint); }
.number:target { opacity: 1; font-weight: 700; background: var(--bar); }
summary { cursor: pointer; margin: 2em 0 .5em; }
"""


def page(
    files: Sequence[FileReport],
    texts: Mapping[str, str],
    by_device: Mapping[str, Sequence[KernelReport]],
) -> str:
    """The page for some files; `texts` are their sources by path.

    `by_device` are the kernels that have a point in a roofline, by the device's name.
    """
    parts = ["<h1>TIRLens report</h1>"]
    if sum(len(file.kernels) for file in files) > 1:
        parts.append(_summary(files))
    for device, placed in by_device.items():
        parts += [f"<h2>Roofline of {escape(device)}</h2>", roofline_chart.svg(placed)]
    number = 0
    for at, file in enumerate(files, 1):
        source = f"file-{at}-line-"
        for kernel in file.kernels:
            number += 1
            parts += [
                f'<h2 id="kernel-{number}">{escape(labels.title(kernel))}</h2>',
                f'<p class="quiet"><code>{escape(file.path)}:{kernel.span.line}</code></p>',
                body(kernel, verdict(kernel), source),
            ]
        parts.append(bullet_list([escape(item) for item in _problems(file)]))
        if file.kernels and texts.get(file.path):
            folded = "" if len(files) > 1 else " open"
            parts.append(
                f"<details{folded}><summary>each line of <code>{escape(file.path)}</code></summary>"
                f'<div class="wide"><pre class="source">{_source(file, texts[file.path], source)}'
                "</pre></div></details>"
            )
    parts.append(f'<p class="quiet">Written by tirlens {__version__}.</p>')
    return document("TIRLens report", parts, _STYLE)


def _summary(files: Sequence[FileReport]) -> str:
    """One row for each kernel, with a bar for its time relative to the longest."""
    found = [(file, kernel) for file in files for kernel in file.kernels]
    columns = tables.kernel_columns([kernel for _, kernel in found])
    longest_s = max(kernel.time_s or 0.0 for _, kernel in found)
    rows: list[str] = []
    for number, (file, kernel) in enumerate(found, 1):
        name = f'<a href="#kernel-{number}">{escape(labels.title(kernel))}</a>'
        place = f"{PurePath(file.path).name}:{kernel.span.line}"
        if kernel.has_counts:
            share = kernel.time_s / longest_s if kernel.time_s and longest_s else None
            figures = tables.kernel_cells(kernel)
            cost_cells = cells(columns, [figures[name] for name in columns], share)
        else:
            reason = escape(verdict(kernel))
            cost_cells = f'<td class="text failed" colspan="{len(columns)}">{reason}</td>'
        title = f'{name} <span class="quiet">{escape(place)}</span>'
        rows.append(f'<tr><td class="text what" style="--depth:0">{title}</td>{cost_cells}</tr>')
    return table(f'<th class="text">kernel</th>{headings(columns)}', rows)


def _problems(file: FileReport) -> Iterator[str]:
    for problem in file.problems:
        line = problem.span.line if problem.span else 1
        yield f"{file.path}:{line}: {problem.kind}: {problem.message}"
    for item in file.needs:
        yield f"{file.path}:{item.span.line}: {item.kernel} needs {', '.join(item.names)}"


def _source(file: FileReport, text: str, anchor: str) -> str:
    """The source, with the time and share of each line in the first kernel that contains it."""
    costs: dict[int, list[tuple[str, float]]] = defaultdict(list)
    for kernel in file.kernels:
        for _, cost in kernel.walk():
            if cost.span.file is None and cost.kind not in ("launch", "tail") and cost.time_s:
                cost_cells = f"{labels.seconds(cost.time_s)} {labels.percent(cost.share)}"
                costs[cost.span.line].append((cost_cells, cost.share or 0.0))
    return "".join(_source_lines(text.splitlines(), costs, anchor))


def _source_lines(
    lines: Iterable[str], costs: Mapping[int, Sequence[tuple[str, float]]], anchor: str
) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        cost_cells, share = costs[number][0] if number in costs else ("", 0.0)
        yield f'<span class="number" id="{anchor}{number}">{number}</span>'
        yield f'<span class="cost share" style="--share:{min(share, 1):.1%}">{cost_cells}</span>'
        yield f"<span>{escape(line) or ' '}</span>"
