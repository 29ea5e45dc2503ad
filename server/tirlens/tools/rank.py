"""``rank``: configurations of a kernel, the one with the least predicted time first."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tirlens import tuning
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import text_with_edits, without_edits
from tirlens.tools.arguments import argument
from tirlens.tools.calls import check_value
from tirlens.tools.errors import ToolError
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Prepared, Workbench
from tirlens.tuning import Axis, Configuration, Estimate, EstimateCalls, Ranking
from tirlens.tuning.json_form import arguments_json
from tirlens_worker.protocol import Analyze, Result

# So many take about a minute, which is how long a client waits.
MOST_CONFIGURATIONS = 1000
# While a worker traces one step, the model evaluates the other.
_STEPS_AT_A_TIME = 2
_LONGEST_AXIS = 1000


@dataclass(frozen=True)
class Rank(Subject, Page):
    """The request."""

    space: tuple[str, ...] | None = argument(
        "Values of parameters: NAME=V1,V2 or NAME=A..B, A..B:x2, A..B:+64; all combinations. "
        "Default: the kernel's autotune list",
        None,
        example=["block_M=64,128", "num_stages=2..4"],
    )


@dataclass(frozen=True)
class Candidate:
    """A configuration; refused ones, which have a `reason`, come last."""

    rank: int
    arguments: Mapping[str, Any]
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    bound: str | None
    occupancy: float | None = None
    shared_bytes_per_block: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Present:
    """The time of the call from which the search starts."""

    call: str
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None


@dataclass(frozen=True)
class Candidates:
    """The answer: one page of the ranking.

    `worth_measuring` configurations, the first of the ranking, have bands that overlap the best
    one's: only a measurement tells which of them is the fastest.
    """

    kernel: str
    device: str
    present: Present
    configurations: tuple[Candidate, ...]
    total: int
    refused: int
    worth_measuring: int
    next_offset: int | None = None
    assumed: Mapping[str, str] = optional(dict)


async def rank(bench: Workbench, request: Rank) -> Candidates:
    """Rank configurations of the kernel that the request names."""
    axes = read_axes(request.space or ())
    text = await text_with_edits(bench, request)
    prepared = await bench.prepare(without_edits(request), text=text)
    subject, start = await start_search(bench, prepared)
    _check_axes(subject, start, axes)
    try:
        plan = await asyncio.to_thread(tuning.plan_search, subject, start, axes)
    except (tuning.SubjectError, tuning.SpaceError) as error:
        raise ToolError("no-space", f"{error}.") from None
    devices = subject.devices(())
    estimate = tuning.estimator(subject, devices, asking(bench, prepared))
    ((present,), (ranking, *_)) = await asyncio.gather(
        _present(estimate, subject, plan.call),
        tuning.rank(plan, subject, start, devices, estimate, _STEPS_AT_A_TIME),
    )
    return _answer(request, ranking, present)


def read_axes(texts: Sequence[str]) -> list[Axis]:
    """The axes that a request writes, whose values are plain.

    Raises
    ------
    ToolError
        One is not written as an axis, or has other values.
    """
    axes: list[Axis] = []
    for text in texts:
        if len(text) > _LONGEST_AXIS:
            raise ToolError("argument", f"An axis of space has at most {_LONGEST_AXIS} characters.")
        try:
            axis = tuning.parse_axis(text)
        except (RecursionError, MemoryError):
            raise ToolError("argument", f"space: {text!r:.80} is nested too deeply.") from None
        except tuning.SpaceError as error:
            example = {"space": ["block_M=64,128", "num_stages=2..4"]}
            raise ToolError("argument", f"{error}.", example) from None
        for value in axis.values:
            if not value.isdecimal():
                check_value(value, axis.name)
        axes.append(axis)
    return axes


def _check_axes(subject: tuning.Subject, start: tuning.Start, axes: Sequence[Axis]) -> None:
    """Check that the configurations are of this kernel, and not too many.

    Raises
    ------
    ToolError
        They are not.
    """
    kernel = subject.kernel
    own = start.configurations.arguments if start.configurations else ()
    optional_ones = [name for name in kernel.parameters if name not in kernel.required]
    send = {"space": [f"{name}=1,2,3" for name in optional_ones[-1:]]} if optional_ones else {}
    parameters = ", ".join(kernel.parameters) or "none"
    unknown = [axis.name for axis in axes if axis.name not in kernel.parameters]
    if unknown:
        message = f"{kernel.name} has no parameter {unknown[0]}. Its parameters: {parameters}."
        raise ToolError("no-space", message, send)
    if not axes and not own:
        message = (
            f"{kernel.name} has no autotune list. Send the values of some of its parameters as "
            f"space: {parameters}."
        )
        raise ToolError("no-space", message, send)
    count = math.prod(len(axis.values) for axis in axes) if axes else len(own)
    if count > MOST_CONFIGURATIONS:
        raise ToolError(
            "no-space",
            f"{count:,} configurations are more than the {MOST_CONFIGURATIONS:,} that one request "
            "ranks. Send fewer values; tirlens tune ranks any number.",
        )


async def start_search(bench: Workbench, prepared: Prepared) -> tuple[tuning.Subject, tuning.Start]:
    """The kernel of a search, and the call from which it starts.

    Raises
    ------
    ToolError
        There is no such kernel, or it cannot be analysed.
    """
    path = str(prepared.place.path)
    try:
        subject = tuning.subject_of(path, prepared.text, prepared.source, prepared.options)
    except tuning.SubjectError:
        known = [kernel.name for kernel in prepared.source.kernels if not kernel.off]
        raise ToolError(
            "no-kernels",
            f"Send the name of one kernel of {prepared.place.name} as kernel: "
            f"{', '.join(known[:20]) or 'it has none'}.",
            {"kernel": known[0]} if known else {},
        ) from None
    try:
        return subject, await tuning.start_of(subject, asking(bench, prepared))
    except tuning.NotAnalysedError:
        # As estimate says it, with what to send.
        name, parameters = subject.kernel.name, subject.kernel.required
        given = ", ".join(f"{one}=..." for one in parameters) or "..."
        raise ToolError(
            "needs-arguments",
            f"{name} cannot be analysed with the calls that are known; estimate says why.",
            {"call": f"{name}({given})"},
        ) from None


def asking(bench: Workbench, prepared: Prepared) -> tuning.Analyse:
    """Sends requests to the warm worker of a file."""

    async def analyse(request: Analyze) -> Result:
        return await bench.ask(prepared.interpreter, request)

    return analyse


async def _present(estimate: EstimateCalls, subject: tuning.Subject, call: str) -> tuple[Present]:
    found = (await estimate(subject.groups([call]))).get(call, (Estimate(),))[0]
    return (Present(call, found.time_s, found.time_band_s, found.confidence),)


def _answer(request: Rank, ranking: Ranking, present: Present) -> Candidates:
    page = request.cut(ranking.configurations)
    return Candidates(
        ranking.kernel,
        ranking.device.id,
        present,
        tuple(map(_candidate, page.items)),
        page.total,
        ranking.refused,
        len(tuning.worth_measuring(ranking.timed, len(ranking.timed))),
        page.next_offset,
        ranking.assumed,
    )


def _candidate(one: Configuration) -> Candidate:
    found = one.estimate
    return Candidate(
        one.rank,
        arguments_json(one.arguments),
        found.time_s,
        found.time_band_s,
        found.confidence,
        found.bound,
        found.occupancy and found.occupancy.fraction,
        found.shared_bytes_per_block or None,
        found.reason,
    )
