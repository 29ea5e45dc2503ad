"""The launches of a part of a captured program, by the sections that the program marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirlens.captured.file_format import Capture, CapturedCall


@dataclass(frozen=True)
class SectionLaunches:
    """Launches of one call, or executions of one operation, in a section.

    Attributes
    ----------
    path
        The sections that they are inside of, the outermost first; empty outside of all.
    since
        The section or mark that had begun for the first time last; empty before all.
    """

    path: tuple[str, ...]
    since: str
    launches: int


@dataclass(frozen=True)
class SectionChoice:
    """What is asked for; everything without a name.

    Attributes
    ----------
    name
        All launches inside of sections of this name.
    start, end
        From the first begin of section or mark `start` on; up to the first begin of `end`.
    """

    name: str | None = None
    start: str | None = None
    end: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all launches are chosen."""
        return self.name is None and self.start is None and self.end is None


class SectionError(ValueError):
    """A section that a capture does not have; the text names those that it has."""


def add_launches(parts: Iterable[Sequence[SectionLaunches]]) -> tuple[SectionLaunches, ...]:
    """The launches of some lists of sections together, in an order that does not vary."""
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    for part in parts:
        for one in part:
            counts[one.path, one.since] += one.launches
    return tuple(SectionLaunches(*key, count) for key, count in sorted(counts.items()))


def choose_launches(capture: Capture, choice: SectionChoice) -> Capture:
    """The capture with the launches that `choice` asks for; calls without any are left out.

    Raises
    ------
    SectionError
        The program has marked no section of a name that is asked for.
    """
    if choice.is_whole:
        return capture
    is_chosen = _condition(capture.sections, choice)
    counted = ((call, _count(call.launches, call.sections, is_chosen)) for call in capture.calls)
    calls = (replace(call, launches=count) for call, count in counted if count)
    others = {
        name: _count(count, capture.other_sections.get(name, ()), is_chosen)
        for name, count in capture.others.items()
    }
    return replace(
        capture,
        calls=tuple(calls),
        others={name: count for name, count in others.items() if count},
        orders=tuple(
            order.chosen(lambda launch: is_chosen(launch.path, launch.since))
            for order in capture.orders
        ),
    )


def launches_by_section(calls: Iterable[CapturedCall]) -> dict[str, int]:
    """The launches inside of each outermost section; those outside of all have an empty name."""
    counts: Counter[str] = Counter()
    for call in calls:
        counts[""] += call.launches - sum(one.launches for one in call.sections)
        for one in call.sections:
            counts[one.path[0] if one.path else ""] += one.launches
    return {name: count for name, count in counts.items() if count}


def _condition(
    names: Sequence[str], choice: SectionChoice
) -> Callable[[tuple[str, ...], str], bool]:
    for name in (choice.name, choice.start, choice.end):
        if name is not None and name not in names:
            listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            known = f"there are: {listed}" if names else "the program marks none"
            raise SectionError(f"no section {name!r}; {known}")
    places = {name: number for number, name in enumerate(names, 1)} | {"": 0}
    low = places[choice.start] if choice.start is not None else 0
    high = places[choice.end] if choice.end is not None else len(places)
    if choice.end is not None and high <= low:
        raise SectionError(f"section {choice.end!r} does not begin behind {choice.start!r}")

    def is_chosen(path: tuple[str, ...], since: str) -> bool:
        is_inside = choice.name is None or choice.name in path
        return is_inside and low <= places.get(since, 0) < high

    return is_chosen


def _count(
    launches: int,
    sections: Sequence[SectionLaunches],
    is_chosen: Callable[[tuple[str, ...], str], bool],
) -> int:
    """Those of some launches that are chosen; what no section has is before all of them."""
    rest = launches - sum(one.launches for one in sections)
    chosen = sum(one.launches for one in sections if is_chosen(one.path, one.since))
    return chosen + (rest if is_chosen((), "") else 0)
