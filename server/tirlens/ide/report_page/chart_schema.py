"""The types of the charts of a report page, as those of `schema`.

Positions and lengths are fractions of a chart from 0 to 1, `y` upward; texts are ready to show.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, TypedDict

BarKind: TypeAlias = Literal["work", "rest", "launch", "tail"]
PointKind: TypeAlias = Literal["kernel", "loop", "statement"]
Level: TypeAlias = Literal["dram", "l2", "shared"]


class Tick(NamedTuple):
    """A position of an axis with its text."""

    at: float
    text: str


class Bar(TypedDict):
    """A part of the kernel's time."""

    label: str
    line: int | None
    kind: BarKind
    start: float
    length: float
    time: str
    share: str
    bound: str


class Waterfall(TypedDict):
    """The parts of the kernel's time one after the other.

    `limits` are the times of the roofline and of the fastest known structure, where there are any.
    """

    bars: list[Bar]
    total: str
    ticks: list[Tick]
    limits: list[Tick]


class Axis(TypedDict):
    """An axis of a chart."""

    title: str
    ticks: list[Tick]


class Slope(NamedTuple):
    """The ends of the line of a bandwidth."""

    x1: float
    y1: float
    x2: float
    y2: float


class Bandwidth(TypedDict):
    """The ceiling of a level of memory."""

    level: Level
    name: str
    text: str
    line: Slope


class Peak(TypedDict):
    """The ceiling of an arithmetic type, which begins at `x`."""

    text: str
    used: bool
    x: float
    y: float


class Point(TypedDict):
    """A kernel or a part of it, at its intensity of each level."""

    label: str
    line: int | None
    kind: PointKind
    share: str
    rate: str
    y: float
    x: dict[Level, float]
    intensity: dict[Level, str]


class Roofline(TypedDict):
    """The roofline of a device with kernels in it."""

    x: Axis
    y: Axis
    bandwidths: list[Bandwidth]
    peaks: list[Peak]
    points: list[Point]


class Segment(NamedTuple):
    """A part of a lane.

    `kind`, `text` and `duration` are indices; 0 is no line and no completion, -1 no iteration.
    """

    kind: int
    start: float
    end: float
    text: int
    duration: int
    line: int
    iteration: int
    complete: float


class Lane(TypedDict):
    """What one role or unit of a block does."""

    name: str
    segments: list[Segment]


class Timeline(TypedDict):
    """The lanes of one block."""

    kinds: list[str]
    texts: list[str]
    lanes: list[Lane]
    gaps: list[Tick]
    ticks: list[Tick]
    title: str


class BankCell(NamedTuple):
    """A word of shared memory and the lane that accesses it."""

    row: int
    bank: int
    lane: int


class Pattern(TypedDict):
    """The banks that a warp accesses."""

    cells: list[BankCell]
    text: str
    conflicts: bool


class Access(TypedDict):
    """An access of a warp to a shared array, row by row and swizzled."""

    label: str
    line: int | None
    mode: str
    request: str
    before: Pattern
    after: Pattern | None


class Layout(TypedDict):
    """A shared array; `panel` is the width of its swizzle in bytes."""

    array: str
    text: str
    state: str
    swizzled: bool
    panel: int | None
    accesses: list[Access]
