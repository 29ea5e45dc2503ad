"""What a kernel's time is compared with: the last save, the baseline, and the recent saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.escaping import code, prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.model.report import KernelReport

_SMALLEST_CHANGE_PERCENT = 1.0
_NAMED_SAVES = 5
#: The levels of a sparkline from low to high, in ASCII.
_LEVELS = "_.-=*#"


@dataclass(frozen=True)
class SavedTime:
    """The time of a kernel in one saved text.

    Attributes
    ----------
    time_s
        The estimated time.
    saved_at_s
        When the text was saved or opened, in seconds since 1970 (Unix time).
    version
        The editor's number of the text.
    """

    time_s: float
    saved_at_s: float
    version: int


@dataclass(frozen=True)
class Version:
    """An earlier text of a file, and the reports of its kernels.

    Attributes
    ----------
    name
        Such as ``last save`` or ``HEAD~1``.
    lines
        The lines of the text.
    kernels
        Of a kernel that is lowered or compiled also its reports of the tiers before.
    """

    name: str
    lines: Sequence[str]
    kernels: tuple[KernelReport, ...]

    def counterpart(
        self, report: KernelReport, siblings: Sequence[KernelReport]
    ) -> KernelReport | None:
        """The report of this version to compare `report` with, one of `siblings`.

        It has the same call and sizes. Where there is none, it is the only other kernel of this
        definition, if it has as many compulsory bytes: the same problem in another configuration.
        """
        same = next((item for item in self.kernels if key(item) == key(report)), None)
        if same is not None:
            return same
        before = _without_same(self.kernels, siblings, report)
        now = _without_same(siblings, self.kernels, report)
        if len(before) != 1 or len(now) != 1 or report.compulsory_bytes is None:
            return None
        is_same_problem = before[0].compulsory_bytes == report.compulsory_bytes
        return before[0] if is_same_problem else None


@dataclass(frozen=True)
class Comparison:
    """A kernel in an earlier version of its file.

    Attributes
    ----------
    name
        The name of the version.
    before
        The kernel's report in that version.
    lines
        The lines of that version.
    earlier_tier
        The present kernel before it was compiled or lowered, where the earlier one was not. The
        two are then compared.
    """

    name: str
    before: KernelReport
    lines: Sequence[str]
    earlier_tier: KernelReport | None = None

    @property
    def time_s(self) -> float | None:
        """The time in the earlier version."""
        return self.before.time_s

    def change(self, report: KernelReport) -> str:
        """The change of the time of `report`, the present kernel: ``-28%``, or empty."""
        return change((self.earlier_tier or report).time_s, self.time_s)


@dataclass(frozen=True)
class History:
    """What the time of one kernel is compared with.

    Attributes
    ----------
    last_save
        The kernel in the text that was saved before; None if it had no time there.
    baseline
        The kernel in the pinned version; None if none is pinned.
    saves
        The times of the last saves, the present one last.
    """

    last_save: Comparison | None = None
    baseline: Comparison | None = None
    saves: tuple[SavedTime, ...] = ()

    def changes_of(self, report: KernelReport) -> str:
        """``-28%``, ``-28%, baseline -41%`` or ``baseline -41%``; empty without a change."""
        found: list[str] = []
        if self.last_save is not None:
            found.append(self.last_save.change(report))
        if self.baseline is not None:
            percent = self.baseline.change(report)
            found.append(percent and f"baseline {percent}")
        return ", ".join(filter(None, found))

    def description_of(self, report: KernelReport) -> str:
        """The sentences of a hover on the baseline and the recent saves, in Markdown."""
        found: list[str] = []
        if self.baseline is not None and self.baseline.time_s is not None:
            percent = self.baseline.change(report) or "unchanged"
            before = labels.seconds(self.baseline.time_s)
            found.append(f"Baseline {prose(self.baseline.name)}: {before}, now {percent}.")
        if len(self.saves) > 1:
            times = [item.time_s for item in self.saves]
            last = ", ".join(labels.seconds(time_s) for time_s in times[-_NAMED_SAVES:])
            found.append(f"Last saves: {last}: {code(sparkline(times))}.")
        return " ".join(found)


NO_HISTORY = History()


def key(report: KernelReport) -> tuple[object, ...]:
    """What two times must have in common to be compared: the code that they are of may differ."""
    return *_call(report), report.launch_facts


def is_same_call(one: KernelReport, other: KernelReport) -> bool:
    """Whether two reports are of one kernel, call and device, of any tier."""
    return _call(one) == _call(other)


def _call(report: KernelReport) -> tuple[object, ...]:
    sizes = tuple(sorted(report.bindings.items()))
    return report.definition, report.name, report.call, sizes, report.device_id


def change(time_s: float | None, before_s: float | None) -> str:
    """``-28%`` for a time that was 39 % longer before; empty if it differs by less than 1 %."""
    if time_s is None or not before_s:
        return ""
    percent = 100 * (time_s / before_s - 1)
    return f"{percent:+.0f}%" if abs(percent) >= _SMALLEST_CHANGE_PERCENT else ""


def sparkline(times_s: Sequence[float]) -> str:
    """The course of some times in ASCII characters, from ``_``, the lowest, to ``#``."""
    if not times_s:
        return ""
    low, high = min(times_s), max(times_s)
    if high - low < high * _SMALLEST_CHANGE_PERCENT / 100:
        return _LEVELS[0] * len(times_s)
    steps = len(_LEVELS) - 1
    return "".join(_LEVELS[round(steps * (item - low) / (high - low))] for item in times_s)


def _without_same(
    kernels: Sequence[KernelReport], others: Sequence[KernelReport], like: KernelReport
) -> list[KernelReport]:
    """The kernels with the definition, name and device of `like` that are not in `others`."""
    known = {key(item) for item in others}
    group = _group(like)
    return [item for item in kernels if _group(item) == group and key(item) not in known]


def _group(report: KernelReport) -> tuple[object, ...]:
    return report.definition, report.name, report.device_id, report.launch_facts
