"""The data of a report page: files, their kernels, and what can be chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.ide.report_page.axes import fraction
from tirlens.ide.report_page.kernel_data import KernelView, kernel_data
from tirlens.ide.report_page.roofline_data import common_roofline
from tirlens.ide.report_page.schema import (
    SCHEMA_VERSION,
    Cell,
    Choice,
    DeviceRoofline,
    File,
    Line,
    Problem,
    TimedLine,
)
from tirlens.ide.report_page.schema import Page as PageData
from tirlens.version import __version__

if TYPE_CHECKING:
    from tirlens.model.report import KernelReport


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


def page_data(page: Page) -> PageData:
    """The JSON of a page."""
    views = [view for file in page.files for view in file.kernels]
    longest_s = max((view.report.time_s or 0.0 for view in views), default=0.0)
    choices = page.choices
    return {
        "schema_version": SCHEMA_VERSION,
        "title": page.title,
        "generator": f"tirlens {__version__}",
        "devices": [Choice(*item) for item in choices.devices],
        "device": choices.device,
        "comparisons": [Choice(*item) for item in choices.comparisons],
        "comparison": choices.comparison,
        "files": [file_data(file, longest_s) for file in page.files],
        "rooflines": _rooflines(views),
    }


def file_data(file: FileView, longest_s: float) -> File:
    """The JSON of a file; `longest_s` is the time of the slowest kernel of the page."""
    found: File = {
        "path": file.path,
        "name": file.name,
        "origin": file.origin,
        "stale": file.is_stale,
        "problems": [Problem(*problem) for problem in file.problems],
        "kernels": [kernel_data(view, file.cells, longest_s) for view in file.kernels],
    }
    if file.cells.cells:
        found["cells"] = [Cell(*cell) for cell in file.cells.cells]
    if file.text is not None:
        found["source"] = _source([view.report for view in file.kernels], file.text)
    return found


def _rooflines(views: Sequence[KernelView]) -> list[DeviceRoofline]:
    """The chart of all kernels on each device that has several."""
    by_device: Mapping[str, list[KernelView]] = defaultdict(list)
    for view in views:
        by_device[view.device.id].append(view)
    charts = (
        (same[0].device, common_roofline([view.report for view in same], same[0].device))
        for same in by_device.values()
    )
    return [{"device": device.name, "chart": chart} for device, chart in charts if chart]


def _source(reports: Sequence[KernelReport], text: str) -> list[Line | TimedLine]:
    """Each line with the time and share of it in the first kernel that contains it."""
    costs: dict[int, tuple[str, float]] = {}
    for report in reports:
        for _, cost in report.walk():
            is_here = cost.span.file is None and cost.kind not in ("launch", "tail")
            if is_here and cost.time_s and cost.span.line not in costs:
                share = min(cost.share or 0.0, 1.0)
                cell = f"{labels.seconds(cost.time_s)} {labels.percent(cost.share)}"
                costs[cost.span.line] = cell, fraction(share)
    lines = text.splitlines()
    return [
        TimedLine(line, *costs[number]) if number in costs else Line(line)
        for number, line in enumerate(lines, 1)
    ]
