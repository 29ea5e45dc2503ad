"""A kernel over sizes: its time and bound at each, and its best configuration."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tirlens.hardware import Device
from tirlens.tuning.calls import CallError, names_given, with_arguments
from tirlens.tuning.configurations import Arguments, Axis, SpaceError
from tirlens.tuning.estimator import Analyse, EstimateCalls
from tirlens.tuning.ranking import Estimate
from tirlens.tuning.search import (
    NotAnalysedError,
    Progress,
    Start,
    estimate_all,
    plan_search,
    rank,
    start_of,
)
from tirlens.tuning.subject import Subject, SubjectError

_MOST_POINTS = 100_000


@dataclass(frozen=True)
class Point:
    """One combination of sizes, by name; `arguments` is the best configuration, where searched."""

    sizes: Mapping[str, int]
    call: str
    estimate: Estimate
    arguments: Arguments = field(default_factory=dict[str, str])

    @property
    def efficiency(self) -> float | None:
        """The roofline's time over the predicted time."""
        estimate = self.estimate
        if estimate.time_s is None or estimate.roofline_time_s is None or not estimate.time_s:
            return None
        return estimate.roofline_time_s / estimate.time_s


@dataclass(frozen=True)
class Crossover:
    """Two neighbouring points of a sweep with different bounds."""

    before: Point
    after: Point


@dataclass(frozen=True)
class Sweep:
    """The points of a kernel over the sizes `names`, the last of which changes fastest."""

    kernel: str
    call: str
    device: Device
    names: tuple[str, ...]
    points: tuple[Point, ...]
    duration_s: float
    is_tuned: bool = False

    @property
    def rows(self) -> Iterator[tuple[Point, ...]]:
        """The points along the last size, for each combination of the others."""
        for _, row in itertools.groupby(
            self.points, key=lambda point: [point.sizes[name] for name in self.names[:-1]]
        ):
            yield tuple(row)

    @property
    def crossovers(self) -> tuple[Crossover, ...]:
        """Where the bound changes along the last size."""
        return tuple(
            Crossover(before, after)
            for row in self.rows
            for before, after in itertools.pairwise(row)
            if before.estimate.bound != after.estimate.bound
            and before.estimate.bound is not None
            and after.estimate.bound is not None
        )

    @property
    def ranges(self) -> tuple[tuple[Point, Point], ...]:
        """The first and last points, along the last size, that share their best configuration."""
        return tuple(
            (points[0], points[-1])
            for row in self.rows
            for points in (
                list(group)
                for _, group in itertools.groupby(row, key=lambda point: dict(point.arguments))
            )
            if points[0].arguments
        )


def check_sizes(subject: Subject, start: Start, axes: Sequence[Axis]) -> None:
    """Check that each axis is of a parameter or a dynamic dimension, and has whole numbers.

    Raises:
        SubjectError, SpaceError: it does not.
    """
    variables = (one.name for one in start.facts.variables)
    names = dict.fromkeys((*_arguments_of(subject, start), *variables))
    points = 1
    for axis in axes:
        points *= len(axis.values)
        if axis.name not in names:
            raise SubjectError(
                f"{subject.kernel.name} has no size {axis.name}; there are: {', '.join(names)}"
            )
        wrong = next((value for value in axis.values if not _is_size(value)), None)
        if wrong is not None:
            raise SpaceError(f"{axis.name}={wrong} is no size")
    if points > _MOST_POINTS:
        raise SpaceError(f"{points:,} points; a sweep has at most {_MOST_POINTS:,}")


def _arguments_of(subject: Subject, start: Start) -> tuple[str, ...]:
    """The arguments of the call that a size can be."""
    return (*names_given(start.facts.call), *subject.kernel.parameters)


def _is_size(text: str) -> bool:
    return text.isdecimal() and 0 < int(text) < 1 << 63


async def sweep(
    subject: Subject,
    start: Start,
    axes: Sequence[Axis],
    device: Device,
    estimate_of: Callable[[Subject], EstimateCalls],
    jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Sweep:
    """Estimate the kernel at each combination of sizes.

    Parameters
    ----------
    axes
        As `check_sizes` accepts them: parameters of the kernel, or dynamic dimensions.
    estimate_of
        Estimates calls of a subject on `device`; the subjects differ in their dynamic dimensions.

    Raises:
        SubjectError: the call of `start` cannot be given the sizes.
    """
    began_s = time.monotonic()
    points: list[Point] = []
    by_sizes: dict[tuple[tuple[str, int], ...], list[tuple[Mapping[str, int], str]]] = {}
    for sizes in _combinations(axes):
        dynamic, call = _split(subject, start, sizes)
        by_sizes.setdefault(tuple(dynamic.items()), []).append((sizes, call))
    total = sum(map(len, by_sizes.values()))
    for dynamic, group in by_sizes.items():
        calls = list(dict.fromkeys(call for _, call in group))
        tell = _within(on_progress, len(points), total, began_s)
        there = subject.with_sizes(dict(dynamic))
        found = await estimate_all(there.groups(calls), estimate_of(there), jobs, tell)
        for sizes, call in group:
            estimates = found.get(call, (Estimate(reason="not analysed in time"),))
            points.append(Point(sizes, call, estimates[0]))
    order = {tuple(sizes.items()): position for position, sizes in enumerate(_combinations(axes))}
    points.sort(key=lambda point: order[tuple(point.sizes.items())])
    return _sweep(subject, start, axes, device, points, began_s, False)


async def tuned_sweep(
    subject: Subject,
    start: Start,
    axes: Sequence[Axis],
    space: Sequence[Axis],
    device: Device,
    estimate_of: Callable[[Subject], EstimateCalls],
    analyse: Analyse,
    jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Sweep:
    """Find the best configuration at each combination of sizes.

    Parameters
    ----------
    space
        The values of the configurations' parameters, as for `plan_search`; the kernel's own
        configurations for these sizes where it is empty.

    Raises:
        SubjectError, SpaceError: there are no configurations, or they do not fit the kernel.
    """
    began_s = time.monotonic()
    points: list[Point] = []
    combinations = list(_combinations(axes))
    for sizes in combinations:
        dynamic, call = _split(subject, start, sizes)
        there = subject.with_sizes(dynamic)
        try:
            own = await start_of(there.with_call(call), analyse)
        except NotAnalysedError as error:
            points.append(Point(sizes, call, Estimate(is_refused=True, reason=str(error))))
            continue
        plan = plan_search(there, own, space)
        (ranking,) = await rank(plan, there, own, (device,), estimate_of(there), jobs)
        best = ranking.configurations[0]
        points.append(Point(sizes, best.call, best.estimate, best.arguments))
        tell = _within(on_progress, len(points), len(combinations), began_s)
        if tell is not None:
            tell(Progress(0, 0, 0.0, None))
    return _sweep(subject, start, axes, device, points, began_s, True)


def _sweep(
    subject: Subject,
    start: Start,
    axes: Sequence[Axis],
    device: Device,
    points: Sequence[Point],
    began_s: float,
    is_tuned: bool,
) -> Sweep:
    names = tuple(axis.name for axis in axes)
    duration_s = time.monotonic() - began_s
    return Sweep(
        subject.kernel.name, start.facts.call, device, names, tuple(points), duration_s, is_tuned
    )


def _combinations(axes: Sequence[Axis]) -> Iterator[Mapping[str, int]]:
    names = [axis.name for axis in axes]
    for values in itertools.product(*(axis.values for axis in axes)):
        yield dict(zip(names, map(int, values), strict=True))


def _split(
    subject: Subject, start: Start, sizes: Mapping[str, int]
) -> tuple[Mapping[str, int], str]:
    """The sizes that are dynamic dimensions, and the call with the others as arguments."""
    arguments = _arguments_of(subject, start)
    given = {name: str(size) for name, size in sizes.items() if name in arguments}
    try:
        call = with_arguments(start.facts.call, subject.kernel, given) if given else None
    except CallError as error:
        raise SubjectError(str(error)) from error
    dynamic = {name: size for name, size in sizes.items() if name not in given}
    return dynamic, call or start.facts.call


def _within(
    on_progress: Callable[[Progress], None] | None, done: int, total: int, began_s: float
) -> Callable[[Progress], None] | None:
    """Tells the progress of a part behind `done` of `total` points."""
    if on_progress is None:
        return None

    def tell(part: Progress) -> None:
        elapsed_s = time.monotonic() - began_s
        now = done + part.done
        left_s = elapsed_s / now * (total - now) if now else None
        on_progress(Progress(now, total, elapsed_s, left_s))

    return tell
