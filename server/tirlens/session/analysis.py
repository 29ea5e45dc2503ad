"""What a text says, and what one analysis of it found."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tirlens.ide import hints, hovers, lenses
from tirlens.ide.history import (
    NO_HISTORY,
    Comparison,
    History,
    SavedTime,
    Version,
    is_same_call,
    key,
)
from tirlens.ide.line_changes import line_times
from tirlens.ide.line_map import LineMap
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.ide.unselected import Unselected, unselected_functions
from tirlens.settings import DEFAULT_LENS_PARTS

if TYPE_CHECKING:
    from tirlens.ide.hints import Hint
    from tirlens.ide.hovers import Hover
    from tirlens.model.report import KernelReport
    from tirlens.model.totals import ModuleTotal
    from tirlens.pipeline import FileReport, Options
    from tirlens.session.display import Display
    from tirlens.source.source_file import KernelSource, SourceFile
    from tirlens_worker.protocol import NeedsArguments, Result

Lens = tuple[lenses.Part, ...]
#: The times of saved texts by what identifies a kernel, its arguments and its device.
Saves = Mapping[tuple[object, ...], tuple[SavedTime, ...]]
_MAX_SAVES = 32
NO_SAVES: Saves = {}
#: As `tirlens.pipeline.measured_times` has them.
Digests = Mapping[str, tuple[str, ...]]
NO_DIGESTS: Digests = {}
# Editors display lenses in a smaller font than the text.
_CHARACTERS_PER_COLUMN = 1.4


@dataclass(frozen=True)
class Reading:
    """What the text alone says."""

    text: str
    lines: tuple[str, ...]
    source: SourceFile

    @property
    def is_broken(self) -> bool:
        """Whether the text has a syntax error."""
        return any(problem.kind == "syntax" for problem in self.source.problems)


@dataclass(frozen=True)
class Analysis:
    """What the worker and the model found for one text, on one device with one set of options.

    Attributes
    ----------
    saved_at_s, version
        When the text was saved or opened (Unix time), and the editor's number of it.
    last_save
        The text that was analysed before this one.
    saves_before
        The times of the texts before this one.
    baseline
        The version that the user has pinned.
    options
        Those of the analysis, for evaluations on other devices.
    lens_parts
        The parts of a lens, in order.
    earlier_tiers
        The reports of the kernels without what compiling them has found, and without what lowering
        has, to compare with versions that were not compiled, or not lowered.
    awaited_calls
        The names of the kernels for whose calls other files are still searched.
    digests
        The digests of the texts of the kernels that have measured times, in this session.
    broken
        The later text with a syntax error, which cannot be analysed; None if there is none.
    """

    reading: Reading
    result: Result
    report: FileReport
    saved_at_s: float = 0.0
    version: int = 0
    last_save: Version | None = None
    saves_before: Saves = field(default_factory=lambda: NO_SAVES)
    baseline: Version | None = None
    options: Options | None = None
    lens_parts: tuple[str, ...] = DEFAULT_LENS_PARTS
    earlier_tiers: tuple[KernelReport, ...] = ()
    awaited_calls: frozenset[str] = frozenset()
    digests: Digests = field(default_factory=lambda: NO_DIGESTS)
    broken: Reading | None = None

    @property
    def text(self) -> str:
        """The last saved text, of which this is the analysis."""
        return (self.broken or self.reading).text

    def or_before(self, before: Analysis | None) -> Analysis:
        """This analysis; that before it where this text has a syntax error and no figures."""
        has_none = self.reading.is_broken and not self.report.kernels
        if not has_none or before is None or not before.report.kernels:
            return self
        return replace(before, broken=self.reading)

    def reports_of(self, kernel: KernelSource) -> list[KernelReport]:
        """The reports of `kernel`, found by the place of its `def`, else by its name."""
        at_line = self._reports_at.get(kernel.span.line)
        if at_line or kernel.style == "built":
            # Many statements bind one variable.
            return at_line or []
        names = {kernel.name, kernel.name.rpartition(".")[2], kernel.prim_func}
        return [item for item in self.report.kernels if item.definition in names]

    def same_kernel(self, kernel: KernelSource) -> KernelSource | None:
        """The kernel of the analysed text that `kernel` is; several may share a name."""
        same = self._sources_named.get((kernel.name, kernel.prim_func), ())
        return min(same, key=lambda item: abs(item.span.line - kernel.span.line), default=None)

    def past_of(self, reading: Reading) -> tuple[Version | None, Saves]:
        """The `last_save` and `saves_before` of an analysis of `reading` that follows this one.

        A text without figures, such as one with a syntax error, leaves those before it.
        """
        has_times = any(item.time_s is not None for item in self.report.kernels)
        if reading.text == self.reading.text or not has_times:
            return self.last_save, self.saves_before
        saves = {key(item): self.history_of(item).saves for item in self.report.kernels}
        return self.as_version("last save"), {**self.saves_before, **saves}

    def as_version(self, name: str) -> Version:
        """This analysis for later ones to compare with."""
        return Version(name, self.reading.lines, (*self.report.kernels, *self.earlier_tiers))

    def history_of(self, report: KernelReport) -> History:
        """What the time of `report`, one of this analysis, is compared with."""
        return self._histories.get(id(report), NO_HISTORY)

    def hints(self, display: Display) -> list[Hint]:
        """The hints that `display` wants."""
        if not display.has_hints:
            return []
        options = hints.HintOptions(
            display.smallest_share, display.detail == "hottest", display.hint_columns
        )
        reports, lines = self.reports_in(display), self.reading.lines
        before = (self._times_before,) if display.hint_changes else ()
        found = hints.file_hints(reports, lines, options, *before)
        if not options.only_hottest:
            notes = [
                item.hint
                for kernel, item in self._unselected
                if kernel.is_marked or not display.only_marked
            ]
            found += hints.fitting(notes, lines, options.columns)
        return found

    def reports_in(self, display: Display) -> Sequence[KernelReport]:
        """The reports of the kernels that `display` wants."""
        if not display.only_marked:
            return self.report.kernels
        marked = [kernel for kernel in self.reading.source.kernels if kernel.is_marked]
        return [report for kernel in marked for report in self.reports_of(kernel)]

    def hover(self, line: int, column: int, cells: CellPlaces = NO_CELLS) -> Hover | None:
        """The hover at a position of the analysed text (1-based line, 0-based column)."""
        found = hovers.hover(self.report.kernels, line, column, self.history_of, cells)
        if found is not None:
            return found
        heads = (item for _, item in self._unselected if item.span.line == line)
        unselected = next((item.hover for item in heads), None)
        needs = (item for item in self.report.needs if item.span.line == line)
        return unselected or next(map(self._hover_of_needs, needs), None)

    def _hover_of_needs(self, needs: NeedsArguments) -> Hover:
        return hovers.needs(needs, is_searching=needs.kernel in self.awaited_calls)

    @cached_property
    def _unselected(self) -> Sequence[tuple[KernelSource, Unselected]]:
        return [
            (kernel, item)
            for kernel in self.reading.source.kernels
            if kernel.alternatives
            for item in unselected_functions(kernel, self.reports_of(kernel))
        ]

    def _times_before(self, report: KernelReport) -> Mapping[int, float]:
        """The times of the last save at the lines of this text."""
        comparison = self.history_of(report).last_save
        if comparison is None or comparison.earlier_tier is not None:
            return {}
        lines = LineMap.between(comparison.lines, self.reading.lines)
        return line_times(comparison.before, lines)

    def lens(self, kernel: KernelSource, display: Display) -> Lens:
        """What the lens of a kernel of the analysed text says."""
        return self.lenses(display)[kernel.span.line, kernel.name]

    def lenses(self, display: Display) -> Mapping[tuple[int, str], Lens]:
        """The lenses of all kernels, by the lines of their `def` in the analysed text and names."""
        limit = display.lens_characters
        found = self._lenses.get(limit)
        if found is None:
            kernels = self.reading.source.kernels
            found = {
                (item.span.line, item.name): self._lens(item, limit - _indentation(item))
                for item in kernels
            }
            # The others were those of another width.
            self._lenses.clear()
            self._lenses[limit] = found
        return found

    @cached_property
    def _lenses(self) -> dict[int, Mapping[tuple[int, str], Lens]]:
        return {}

    @cached_property
    def files(self) -> frozenset[str]:
        """The other files of the user's that it depends on, also those that are missing."""
        return frozenset(map(os.path.realpath, self.result.files))

    @cached_property
    def _histories(self) -> dict[int, History]:
        return {id(report): self._history(report) for report in self.report.kernels}

    def _history(self, report: KernelReport) -> History:
        last_save = self._comparison(report, self.last_save)
        saves = self.saves_before.get(key(report), ())
        if not saves and last_save is not None:
            saves = self.saves_before.get(key(last_save.before), ())
        if report.time_s is not None:
            saves = (*saves, SavedTime(report.time_s, self.saved_at_s, self.version))
        return History(last_save, self._comparison(report, self.baseline), saves[-_MAX_SAVES:])

    def _comparison(self, report: KernelReport, version: Version | None) -> Comparison | None:
        if version is None:
            return None
        before = version.counterpart(report, self.report.kernels)
        if before is not None:
            return Comparison(version.name, before, version.lines)
        # Saved over before it was lowered or compiled, or refused: the times of the tier before.
        for own in self.earlier_tiers:
            if is_same_call(own, report):
                before = version.counterpart(own, self.earlier_tiers)
                if before is not None:
                    return Comparison(version.name, before, version.lines, own)
        return None

    @cached_property
    def _reports_at(self) -> dict[int, list[KernelReport]]:
        found: dict[int, list[KernelReport]] = {}
        for report in self.report.kernels:
            found.setdefault(report.span.line, []).append(report)
        return found

    @cached_property
    def _sources_named(self) -> dict[tuple[str, str | None], list[KernelSource]]:
        found: dict[tuple[str, str | None], list[KernelSource]] = {}
        for kernel in self.reading.source.kernels:
            found.setdefault((kernel.name, kernel.prim_func), []).append(kernel)
        return found

    def _lens(self, kernel: KernelSource, limit: int) -> Lens:
        reports = self.reports_of(kernel)
        sums = _module_totals(reports) if kernel.style == "built" else []
        histories = [(report, self.history_of(report)) for report in reports]
        parts: list[lenses.Part] = []
        if sums:
            parts = lenses.totals(sums, limit)
        elif len(histories) == 1:
            parts = lenses.parts(*histories[0], self.lens_parts, limit)
        elif histories:
            parts = lenses.several(histories, limit)
        for need in self.report.needs:
            if need.kernel == kernel.name and not reports:
                is_awaited = kernel.name in self.awaited_calls
                parts.extend([lenses.SEARCHING] if is_awaited else lenses.needs(need.names))
        return tuple(parts) or self._why_none(kernel)

    def _why_none(self, kernel: KernelSource) -> Lens:
        """Why a kernel has no figures; nothing for a statement that was not executed."""
        is_own = any(problem.kernel == kernel.name for problem in self.report.problems)
        is_silent = not kernel.is_certain or not (is_own or self._has_failed)
        if kernel.style == "built" and is_silent:
            return ()
        return (self._why_not(kernel),)

    @property
    def _has_failed(self) -> bool:
        return not self.report.kernels and bool(self.report.problems)

    def _why_not(self, kernel: KernelSource) -> lenses.Part:
        for problem in self.report.problems:
            if problem.kernel in (kernel.name, None):
                first_line = problem.message.partition("\n")[0]
                if problem.kind == "interpreter":
                    # The message has whole paths and the command to run; the diagnostic shows it.
                    first_line = "no Python with the framework, see the problem"
                return lenses.Part(lenses.failure(first_line), "report")
        for item in self.report.uncalled:
            if (item.kernel, item.span.line) == (kernel.name, kernel.span.line):
                return lenses.missing_call(item.call)
        return lenses.Part(lenses.failure("no kernel came of it"), "report")


def _indentation(kernel: KernelSource) -> int:
    """The characters of a lens that the indentation of its kernel takes."""
    return math.ceil(_CHARACTERS_PER_COLUMN * kernel.span.column)


def _module_totals(reports: Sequence[KernelReport]) -> list[ModuleTotal]:
    # The first lenses are displayed before the model is imported; reports exist only after.
    from tirlens.model.totals import module_totals

    return module_totals(reports)
