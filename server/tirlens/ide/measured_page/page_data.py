"""The data of the page of a measured step, and its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tirlens.file_reader import read_text
from tirlens.ide import labels
from tirlens.ide.measured_page.roofline_data import MeasuredPoint, roofline_data
from tirlens.ide.measured_page.schema import SCHEMA_VERSION, CategoryRow, MeasuredPage
from tirlens.ide.measured_page.stack_data import Stack, StackPart, stack_data
from tirlens.ide.measured_page.table_data import (
    Cell,
    Column,
    TableView,
    displayed_name,
    share_cell,
    table_data,
)
from tirlens.ide.measured_page.timeline_data import timeline_data
from tirlens.ide.report_page.schema import Tile
from tirlens.ide.report_page.static_page import document
from tirlens.version import __version__

if TYPE_CHECKING:
    from tirlens.hardware import Device
    from tirlens.measured.timeline import CategoryTime, KernelTime, Step

_MOST_NOTES = 50


@dataclass(frozen=True)
class MeasuredView:
    """A step with what the page says beside its timeline.

    Attributes
    ----------
    title
        The name of the trace; of two runs, both.
    source
        What the step is from.
    timeline_note
        What the timeline is, where operations have no times of begin.
    without_timeline
        Why there is no timeline, where there is none.
    tiles
        Figures beside those of the step.
    origin
        The file, its format, the device.
    matched
        Measured kernels beside predictions: above the table of the kernels.
    tables
        Below the table of the kernels.
    stacks
        Beside those by category and kernel.
    points
        The kernels whose FLOP and bytes are counted, and `device`, whose roofline they are in.
    notes
        What is not known, and the problems of the trace.
    """

    title: str
    origin: str
    step: Step
    matched: Sequence[TableView] = ()
    tables: Sequence[TableView] = ()
    stacks: Sequence[Stack] = ()
    points: Sequence[MeasuredPoint] = ()
    device: Device | None = None
    notes: Sequence[str] = ()
    source: str = "a measured trace"
    without_timeline: str = (
        "The trace sums executions or has no times of begin: there is no timeline."
    )
    timeline_note: str = (
        "The trace has no times of begin: the operations stand one after the other in the order"
        " of its rows, with the gaps that it states."
    )
    tiles: Sequence[Tile] = ()


def measured_page_data(view: MeasuredView) -> MeasuredPage:
    """The JSON of a page."""
    step = view.step
    stacks = [*_stacks(step), *view.stacks]
    tables = [*view.matched, kernel_table(step), *view.tables]
    return {
        "schema_version": SCHEMA_VERSION,
        "title": displayed_name(view.title),
        "origin": displayed_name(view.origin),
        "generator": f"tirlens {__version__} from {view.source}",
        "tiles": [*_tiles(step), *view.tiles],
        "categories": category_rows(step),
        "stacks": [data for stack in stacks if (data := stack_data(stack)) is not None],
        "changes": None,
        "timeline": timeline_data(step, view.timeline_note),
        "roofline": None
        if view.device is None
        else {"device": view.device.name, "chart": roofline_data(view.points, view.device)},
        "tables": [table_data(table) for table in tables if table.rows],
        "notes": _notes(view),
    }


def measured_document(view: MeasuredView) -> str:
    """The page as one document that loads nothing."""
    return page_document(measured_page_data(view))


def page_document(data: MeasuredPage) -> str:
    """The document of some data and the page's script."""
    return document(data, _asset("measured.js"), _asset("measured.css"))


@lru_cache
def _asset(name: str) -> str:
    return read_text(Path(__file__).with_name(name))


def _tiles(step: Step) -> list[Tile]:
    """The figures at the top."""
    names = labels.count(len(step.kernels), "name")
    operations = Tile("operations", f"{step.executions:,}", names)
    if step.wall_s is None or step.busy_s is None or step.idle_s is None:
        return [Tile("time of all operations", labels.seconds(step.sum_s), ""), operations]
    devices = len(step.devices)
    wall_s = max(device.wall_s for device in step.devices)
    of_all = f"of {devices} devices together" if devices > 1 else ""
    overlapped_s = sum(device.overlapped_s for device in step.devices)
    gaps = sum(device.gaps for device in step.devices)
    longest_s = max((g.length_s for d in step.devices for g in d.longest[:1]), default=None)
    least = "at least " if step.unknown_gaps else ""
    share = labels.percent(step.idle_s / step.wall_s) if step.wall_s else ""
    found = [
        Tile(
            "wall time", labels.seconds(wall_s), f"longest of {devices} devices" if of_all else ""
        ),
        Tile("busy", labels.seconds(step.busy_s), of_all),
        Tile("idle", least + labels.seconds(step.idle_s), share),
        Tile("gaps", f"{gaps:,}", f"longest {labels.seconds(longest_s)}" if longest_s else ""),
        operations,
    ]
    if overlapped_s > 0.0005 * step.busy_s:
        found.insert(2, Tile("overlapped", labels.seconds(overlapped_s), "beside other operations"))
    return found


def category_rows(step: Step) -> list[CategoryRow]:
    """The categories with their part of the wall time, the idle time last."""
    return [_category(step, one) for one in step.categories]


def _category(step: Step, found: CategoryTime) -> CategoryRow:
    share = step.share(found)
    return {
        "category": found.category,
        "executions": f"{found.executions:,}",
        "time": labels.seconds(found.sum_s),
        "share": labels.percent(share) if share is not None else "",
        "alone": "" if found.alone_s is None else labels.seconds(found.alone_s),
    }


def _stacks(step: Step) -> list[Stack]:
    """The bars by category, with the idle time, and by kernel, which are of the busy time."""
    has_clock = step.wall_s is not None

    def part(found: KernelTime | CategoryTime, name: str) -> StackPart:
        time_s = found.part_s if has_clock else found.sum_s
        return StackPart(
            name, time_s or 0.0, found.category, labels.count(found.executions, "execution")
        )

    idle = [StackPart("idle", step.idle_s, "idle")] if step.idle_s else []
    return [
        Stack("by category", [*(part(one, one.category) for one in step.categories), *idle]),
        Stack("by kernel", [part(one, one.name) for one in step.kernels]),
    ]


def kernel_table(step: Step) -> TableView:
    """A row for each kernel, those with the most time first."""
    has_clock = step.wall_s is not None
    has_reachable = any(kernel.reachable_s for kernel in step.kernels)
    columns = [
        Column("kernel", "text"),
        Column("category", "text"),
        Column("executions"),
        Column("time", about="the sum of all executions"),
        Column(
            "part",
            "share",
            "of the wall time, of which operations at the same time have equal parts"
            if has_clock
            else "of the time of all operations",
        ),
        Column("mean"),
    ]
    if has_reachable:
        columns += [
            Column("reachable", about="the least time at the device's rates for the counted work"),
            Column("above it", about="the time above the reachable one"),
        ]
    rows = [_kernel_row(step, kernel, has_reachable) for kernel in step.kernels]
    categories = [kernel.category for kernel in step.kernels]
    return TableView("Kernels", columns, rows, categories, marks_kernels=True)


def _kernel_row(step: Step, kernel: KernelTime, has_reachable: bool) -> list[Cell]:
    share = step.share(kernel)
    mean_s = kernel.sum_s / kernel.executions if kernel.executions else None
    row: list[Cell] = [
        kernel.name,
        kernel.category,
        (f"{kernel.executions:,}", kernel.executions),
        (labels.seconds(kernel.sum_s), kernel.sum_s),
        share_cell(labels.percent(share) if share is not None else "", share),
        (labels.seconds(mean_s), mean_s),
    ]
    if has_reachable:
        reachable_s, of_s = kernel.reachable_s, kernel.reachable_of_s
        known = reachable_s is not None and of_s is not None
        above_s = of_s - reachable_s if reachable_s is not None and of_s is not None else None
        row += [
            (labels.seconds(reachable_s) if known else "", reachable_s),
            (labels.seconds(above_s) if known else "", above_s),
        ]
    return row


def _notes(view: MeasuredView) -> list[str]:
    """What is not known, then the notes of the view."""
    step = view.step
    found: list[str] = []
    if step.clock == "none" and step.kernels:
        found.append(view.without_timeline)
    if step.unknown_gaps:
        found.append(
            f"{labels.count(step.unknown_gaps, 'gap')} between operations of unknown length:"
            " the idle time is a lower bound."
        )
    if step.untimed:
        found.append(f"{labels.count(step.untimed, 'operation')} without a time: in no sum.")
    if step.unplaced:
        found.append(
            f"{labels.count(step.unplaced, 'operation')} without a time of begin:"
            " in the sums, not in the timeline."
        )
    found += [displayed_name(note) for note in view.notes[:_MOST_NOTES]]
    if len(view.notes) > _MOST_NOTES:
        found.append(f"{len(view.notes) - _MOST_NOTES:,} further problems.")
    return found
