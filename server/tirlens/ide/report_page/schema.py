"""The types of a report page's data, of which ``src/page/schema.ts`` of the extension is made.

Those of its charts are in `chart_schema`. Lengths are fractions from 0 to 1, and texts are ready
to show.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, TypedDict

from tirlens.ide.report_page.chart_schema import Layout, Roofline, Timeline, Waterfall

SCHEMA_VERSION = 1

Trend: TypeAlias = Literal["faster", "slower", "same"]
ColumnKind: TypeAlias = Literal["number", "text"]


class Choice(NamedTuple):
    """What an editor offers to choose."""

    id: str
    text: str


class Problem(NamedTuple):
    """What could not be read or analysed."""

    line: int
    message: str


class Cell(NamedTuple):
    """A Python cell of a notebook: its number, and how many lines of the text are above it."""

    number: int
    above: int


class TimedLine(NamedTuple):
    """A line of the text with its time, as a text and as a share of the kernel's."""

    text: str
    time: str
    share: float


class Line(NamedTuple):
    """A line of the text that takes no time."""

    text: str


class Tile(NamedTuple):
    """A figure at the top of a page; the note is empty where there is none."""

    name: str
    value: str
    note: str


class Change(NamedTuple):
    """A figure now and in another version."""

    name: str
    now: str
    before: str


class Bars(NamedTuple):
    """The times of two versions as parts of the longer one."""

    now: float
    before: float


class Unit(NamedTuple):
    """A unit of the device, and the share of the time that it is busy."""

    name: str
    share: float
    text: str


class Fact(NamedTuple):
    """What is known of a kernel, as a sentence."""

    name: str
    text: str


class Column(NamedTuple):
    """A column of the tree of lines, from the server's table of figures."""

    name: str
    kind: ColumnKind


class _Before(TypedDict):
    name: str
    time: str
    cells: list[Change]


class Before(_Before, total=False):
    """Another version of a kernel; without `change` where a time is not known."""

    change: str
    trend: Trend
    bars: Bars


class _Row(TypedDict):
    depth: int
    line: int | None
    place: str
    what: str
    time: str
    share: str
    bar: float
    cells: list[str]


class Row(_Row, total=False):
    """A line of a kernel; `cells` has a text for each of the kernel's columns."""

    change: str


class Edit(TypedDict):
    """An edit that an editor can apply."""

    title: str
    text: str


class Advice(TypedDict):
    """An advice with the time that it saves."""

    rule: str
    line: int | None
    place: str
    message: str
    saving: str
    share: str
    bar: float
    edit: Edit | None


class _KernelHead(TypedDict):
    name: str
    line: int
    device: str
    verdict: str
    time_s: float | None
    bar: float


class FailedKernel(_KernelHead):
    """A kernel without figures; `failed` says why."""

    failed: str


class _AnalysedKernel(_KernelHead):
    time: str
    reason: str
    tiles: list[Tile]
    before: Before | None
    units: list[Unit]
    facts: list[Fact]
    columns: list[Column]
    rows: list[Row]
    waterfall: Waterfall | None
    roofline: Roofline | None
    advice: list[Advice]
    notes: list[str]
    detailed: bool


class AnalysedKernel(_AnalysedKernel, total=False):
    """A kernel with its figures.

    Attributes
    ----------
    bar
        The time as a part of that of the slowest kernel of the page.
    detailed
        Whether `timeline` and `layouts` are here.
    """

    timeline: Timeline | None
    layouts: list[Layout]


Kernel: TypeAlias = AnalysedKernel | FailedKernel


class _File(TypedDict):
    path: str
    name: str
    origin: str
    stale: bool
    problems: list[Problem]
    kernels: list[Kernel]


class File(_File, total=False):
    """A file with its kernels.

    Attributes
    ----------
    cells
        Those of a notebook.
    source
        Each line of the text, for a page without an editor.
    """

    cells: list[Cell]
    source: list[Line | TimedLine]


class DeviceRoofline(TypedDict):
    """The kernels of a page on one device."""

    device: str
    chart: Roofline


class Page(TypedDict):
    """A report page; what can be chosen is empty in a page without a server."""

    schema_version: int
    title: str
    generator: str
    devices: list[Choice]
    device: str
    comparisons: list[Choice]
    comparison: str
    files: list[File]
    rooflines: list[DeviceRoofline]
