"""The data of a report page: files, their kernels, and what can be chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tirlens.ide import labels
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.ide.report_page.axes import fraction
from tirlens.ide.report_page.kernel_data import KernelView, kernel_data
from tirlens.ide.report_page.roofline_data import common_roofline
from tirlens.version import __version__

if TYPE_CHECKING:
    from tirlens.model.report import KernelReport

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class FileView:
    """A file with its kernels.

    Attributes
    ----------
    origin
        Which text the report is of: ``saved 14:32:05, version 12``.
    is_stale
        Whether the text was changed since.
    problems
        Lines and messages.
    text
        The text, for a page without an editor; None otherwise.
    cells
        Those of a notebook: lines are of the text of all its cells, and the page names them so.
    """

    path: str
    name: str
    kernels: Sequence[KernelView]
    origin: str = ""
    is_stale: bool = False
    problems: Sequence[tuple[int, str]] = ()
    text: str | None = None
    cells: CellPlaces = NO_CELLS


@dataclass(frozen=True)
class Choices:
    """What the user of an editor may choose: devices as ids with texts, and comparisons likewise.

    `device` and `comparison` are the present choices.
    """

    devices: Sequence[tuple[str, str]] = ()
    device: str = ""
    comparisons: Sequence[tuple[str, str]] = ()
    comparison: str = ""


@dataclass(frozen=True)
class Page:
    """A report page."""

    title: str
    files: Sequence[FileView]
    choices: Choices = field(default_factory=Choices)


def page_data(page: Page) -> dict[str, Any]:
    """The JSON of a page, as ``vscode-client/src/page/schema.ts`` describes it."""
    views = [view for file in page.files for view in file.kernels]
    longest_s = max((view.report.time_s or 0.0 for view in views), default=0.0)
    choices = page.choices
    return {
        "schema_version": SCHEMA_VERSION,
        "title": page.title,
        "generator": f"tirlens {__version__}",
        "devices": [list(item) for item in choices.devices],
        "device": choices.device,
        "comparisons": [list(item) for item in choices.comparisons],
        "comparison": choices.comparison,
        "files": [file_data(file, longest_s) for file in page.files],
        "rooflines": _rooflines(views),
    }


def file_data(file: FileView, longest_s: float) -> dict[str, Any]:
    """The JSON of a file; `longest_s` is the time of the slowest kernel of the page."""
    kernels: list[dict[str, Any]] = []
    for view in file.kernels:
        time_s = view.report.time_s
        bar = fraction(time_s / longest_s) if time_s and longest_s else 0.0
        kernels.append(kernel_data(view, file.cells) | {"bar": bar})
    found: dict[str, Any] = {
        "path": file.path,
        "name": file.name,
        "origin": file.origin,
        "stale": file.is_stale,
        "problems": [list(problem) for problem in file.problems],
        "kernels": kernels,
    }
    if file.cells.cells:
        found["cells"] = [list(cell) for cell in file.cells.cells]
    if file.text is not None:
        found["source"] = _source([view.report for view in file.kernels], file.text)
    return found


def _rooflines(views: Sequence[KernelView]) -> list[dict[str, Any]]:
    """The chart of all kernels on each device that has several."""
    by_device: Mapping[str, list[KernelView]] = defaultdict(list)
    for view in views:
        by_device[view.device.id].append(view)
    charts = (
        (same[0].device, common_roofline([view.report for view in same], same[0].device))
        for same in by_device.values()
    )
    return [{"device": device.name, "chart": chart} for device, chart in charts if chart]


def _source(reports: Sequence[KernelReport], text: str) -> list[list[Any]]:
    """Each line with the time and share of it in the first kernel that contains it."""
    costs: dict[int, list[Any]] = {}
    for report in reports:
        for _, cost in report.walk():
            is_here = cost.span.file is None and cost.kind not in ("launch", "tail")
            if is_here and cost.time_s and cost.span.line not in costs:
                share = min(cost.share or 0.0, 1.0)
                cell = f"{labels.seconds(cost.time_s)} {labels.percent(cost.share)}"
                costs[cost.span.line] = [cell, fraction(share)]
    lines = text.splitlines()
    return [[line, *costs.get(number, [])] for number, line in enumerate(lines, 1)]
