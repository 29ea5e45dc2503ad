"""The types of a measured page's data, of which ``src/page/measured/schema.ts`` is made.

Lengths are fractions from 0 to 1, and texts are ready to show; only the times of the timeline,
which can be zoomed, are numbers: whole nanoseconds.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, TypedDict

from tirlens.ide.report_page.chart_schema import Roofline
from tirlens.ide.report_page.schema import Tile

SCHEMA_VERSION = 1

Clock: TypeAlias = Literal["trace", "order"]
ColumnKind: TypeAlias = Literal["text", "number", "share"]


class CategoryRow(TypedDict):
    """The operations of a category together."""

    category: str
    executions: str
    time: str
    share: str
    alone: str


class Part(TypedDict):
    """A part of a stacked bar."""

    name: str
    short: str
    category: str
    length: float
    time: str
    share: str
    note: str


class Stack(TypedDict):
    """A stacked bar; `width` is the length of the whole."""

    name: str
    total: str
    width: float
    parts: list[Part]


class ChangeBar(TypedDict):
    """What an operation adds to a run, or saves; its length is from -1 to 1."""

    name: str
    short: str
    category: str
    length: float
    text: str
    note: str


class Changes(TypedDict):
    """What operations add to a run, or save; `left_out` is the number of smaller ones."""

    total: str
    left_out: int
    bars: list[ChangeBar]


class Name(NamedTuple):
    """A kernel of the timeline; its category is an index."""

    name: str
    category: int
    short: str


class Lane(TypedDict):
    """The operations of a stream.

    Attributes
    ----------
    segments
        ``delta, length, kernel`` of each: `delta` is from the begin of the one before, `kernel` an
        index of names, or -1 - n for several operations of which most are of category n.
    counts
        How many operations the segments have whose `kernel` is negative.
    """

    name: str
    segments: list[int]
    counts: list[int]
    operations: int


class Gap(NamedTuple):
    """A time in which a device executes nothing, and the kernels before and after it."""

    start: int
    length: int
    text: str
    before: str
    after: str
    cause: str


class DeviceLanes(TypedDict):
    """The lanes of a device."""

    name: str
    idle: str
    lanes: list[Lane]
    gaps: list[Gap]


class Timeline(TypedDict):
    """The lanes of all devices.

    Attributes
    ----------
    overview
        The part of each category in the time of all devices, in equal parts of the step.
    """

    length: int
    clock: Clock
    names: list[Name]
    categories: list[str]
    devices: list[DeviceLanes]
    overview: list[list[float]]
    note: str


class Column(NamedTuple):
    """A column; `about` says what its figures are."""

    name: str
    kind: ColumnKind
    about: str


class NumberCell(NamedTuple):
    """A text with the number that it is sorted by."""

    text: str
    value: float | None


Cell: TypeAlias = str | NumberCell


class Table(TypedDict):
    """A table, which a reader sorts and filters.

    Attributes
    ----------
    shorts
        The first cells for a narrow page.
    marks
        The rows are the kernels of the timeline, in their order.
    details
        A sentence below each row, empty for none; none at all for a table without.
    """

    title: str
    note: str
    columns: list[Column]
    rows: list[list[Cell]]
    categories: list[str]
    shorts: list[str]
    marks: bool
    details: list[str]


class StepRoofline(TypedDict):
    """The kernels whose FLOP and bytes are counted; no chart where there are none."""

    device: str
    chart: Roofline | None


class MeasuredPage(TypedDict):
    """The page of a measured step, or of two runs."""

    schema_version: int
    title: str
    origin: str
    generator: str
    tiles: list[Tile]
    categories: list[CategoryRow]
    stacks: list[Stack]
    changes: Changes | None
    timeline: Timeline | None
    roofline: StepRoofline | None
    tables: list[Table]
    notes: list[str]
