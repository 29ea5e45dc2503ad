"""``sweep``: the predicted time of a kernel over the values of one of its sizes or parameters."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tirlens import tuning
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import text_with_edits, without_edits
from tirlens.tools.arguments import argument
from tirlens.tools.confidence import confidence_of
from tirlens.tools.errors import ToolError
from tirlens.tools.rank import asking, read_axes, start_search
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Prepared, Workbench
from tirlens.tuning import Axis, Estimate
from tirlens.tuning.json_form import arguments_json
from tirlens_worker.protocol import Result

MOST_POINTS = 200
# Calls that are traced at a time.
_STEP = 16


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

    arguments: Mapping[str, Any]
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    bound: str | None
    roofline_time_s: float | None
    reason: str = ""


@dataclass(frozen=True)
class Change:
    """Between two neighbouring values another unit becomes the bound."""

    after: Any
    until: Any
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
    call = start.facts.call
    if axis.name in {variable.name for variable in start.facts.variables}:
        result = Result(1, kernels=(start.facts,))
        sizes = [{**subject.bindings, axis.name: size} for size in _sizes(axis)]
        found = [
            await asyncio.to_thread(tuning.estimates_of, [call], result, [device], bindings)
            for bindings in sizes
        ]
        estimates = [one.get(call, (Estimate(),))[0] for one in found]
    else:
        estimates = await _of_calls(bench, prepared, subject, call, axis)
    points = [
        _point({axis.name: value}, estimate)
        for value, estimate in zip(axis.values, estimates, strict=True)
    ]
    page = request.cut(points)
    return SweepPoints(
        subject.kernel.name,
        device.id,
        call,
        page.items,
        page.total,
        page.next_offset,
        _changes(axis, points),
        start.facts.assumed_arguments,
    )


def _sizes(axis: Axis) -> list[int]:
    """The values of a dynamic dimension.

    Raises
    ------
    ToolError
        One of them is no size.
    """
    if not all(value.isdecimal() and int(value) < 1 << 63 for value in axis.values):
        raise ToolError(
            "argument",
            f"{axis.name} is a dynamic dimension: its values are whole numbers from 0 to 2^63 - 1.",
            {"axis": f"{axis.name}=1..16384:x2"},
        )
    return list(map(int, axis.values))


async def _of_calls(
    bench: Workbench, prepared: Prepared, subject: tuning.Subject, call: str, axis: Axis
) -> list[Estimate]:
    """The estimates of the calls that differ in one argument."""
    calls = [_call_with(call, subject, axis.name, value) for value in axis.values]
    estimate = tuning.estimator(subject, subject.devices(()), asking(bench, prepared))
    found: dict[str, tuple[Estimate, ...]] = {}
    for first in range(0, len(calls), _STEP):
        found |= await estimate(calls[first : first + _STEP])
    unreached = (Estimate(reason="the analysis of this call did not end in time"),)
    return [found.get(one, unreached)[0] for one in calls]


def _call_with(call: str, subject: tuning.Subject, name: str, value: str) -> str:
    """The call with another value of an argument.

    Raises
    ------
    ToolError
        It has no such argument.
    """
    tree = ast.parse(call.strip(), mode="eval").body
    given = [one.arg for one in tree.keywords] if isinstance(tree, ast.Call) else []
    if isinstance(tree, ast.Call) and name in given:
        # A size of an eager kernel is an argument of its call and no parameter.
        for keyword in tree.keywords:
            if keyword.arg == name:
                keyword.value = ast.parse(value, mode="eval").body
        return ast.unparse(tree)
    known = dict.fromkeys((*filter(None, given), *subject.kernel.parameters))
    try:
        if name in known:
            return tuning.with_arguments(call, subject.kernel, {name: value})
    except tuning.CallError:
        pass
    raise ToolError(
        "no-space",
        f"{name} is no dynamic dimension and no argument of {call:.200}. "
        f"Arguments: {', '.join(known) or 'none'}.",
        {"axis": f"{next(iter(known))}=1..16384:x2"} if known else {},
    )


def _point(arguments: Mapping[str, str], estimate: Estimate) -> Point:
    return Point(
        arguments_json(arguments),
        estimate.time_s,
        estimate.time_band_s,
        confidence_of(estimate.time_band_s),
        estimate.bound,
        estimate.roofline_time_s,
        estimate.reason,
    )


def _changes(axis: Axis, points: Sequence[Point]) -> tuple[Change, ...]:
    timed = [one for one in points if one.time_s is not None]
    return tuple(
        Change(before.arguments[axis.name], after.arguments[axis.name], (before.bound, after.bound))
        for before, after in pairwise(timed)
        if before.bound != after.bound
    )
