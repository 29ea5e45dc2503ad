"""``sweep``: the predicted time of a kernel over the values of one of its sizes or parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens import tuning
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import text_with_edits, without_edits
from tirlens.tools.arguments import argument
from tirlens.tools.errors import ToolError
from tirlens.tools.rank import asking, read_axes, start_search
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Workbench

MOST_POINTS = 200


@dataclass(frozen=True)
class Sweep(Subject, Page):
    """The request."""

    axis: str = argument(
        "A dynamic dimension or an argument of the call with its values: M=1..16384:x2, "
        "N=64..1024:+64, K=512,1000",
        example="M=1..16384:x2",
    )


@dataclass(frozen=True)
class Point:
    """The estimate for one value."""

    arguments: Mapping[str, int]
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    bound: str | None
    roofline_time_s: float | None
    reason: str = ""


@dataclass(frozen=True)
class Change:
    """Between two neighbouring values another unit becomes the bound."""

    after: int
    until: int
    bounds: tuple[str | None, str | None]


@dataclass(frozen=True)
class SweepPoints:
    """The answer: one page of the points in the order of the axis, and all changes of the bound."""

    kernel: str
    device: str
    call: str
    points: tuple[Point, ...]
    total: int
    next_offset: int | None = None
    changes: tuple[Change, ...] = optional()
    assumed: Mapping[str, str] = optional(dict)


async def sweep(bench: Workbench, request: Sweep) -> SweepPoints:
    """Estimate the kernel for each value."""
    (axis,) = read_axes([request.axis])
    if len(axis.values) > MOST_POINTS:
        raise ToolError(
            "argument",
            f"axis has {len(axis.values):,} values; at most {MOST_POINTS} are evaluated.",
            {"axis": f"{axis.name}={axis.values[0]}..{axis.values[-1]}:x2"},
        )
    text = await text_with_edits(bench, request)
    prepared = await bench.prepare(without_edits(request), text=text)
    subject, start = await start_search(bench, prepared)
    (device, *_) = subject.devices(())
    try:
        tuning.check_sizes(subject, start, [axis])
    except (tuning.SubjectError, tuning.SpaceError) as error:
        send = {"axis": f"{axis.name}=1..16384:x2"}
        is_wrong_value = isinstance(error, tuning.SpaceError)
        raise ToolError("no-space", f"{error}.", send if is_wrong_value else {}) from None
    analyse = asking(bench, prepared)
    found = await tuning.sweep(
        subject, start, [axis], device, lambda one: tuning.estimator(one, [device], analyse)
    )
    points = [_point(one) for one in found.points]
    page = request.cut(points)
    changes = (
        Change(
            one.before.sizes[axis.name],
            one.after.sizes[axis.name],
            (one.before.estimate.bound, one.after.estimate.bound),
        )
        for one in found.crossovers
    )
    return SweepPoints(
        found.kernel,
        device.id,
        found.call,
        page.items,
        page.total,
        page.next_offset,
        tuple(changes),
        start.facts.assumed_arguments,
    )


def _point(one: tuning.Point) -> Point:
    estimate = one.estimate
    return Point(
        one.sizes,
        estimate.time_s,
        estimate.time_band_s,
        estimate.confidence,
        estimate.bound,
        estimate.roofline_time_s,
        estimate.reason,
    )
