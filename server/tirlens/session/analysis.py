"""What a text says, and what one analysis of it found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tirlens.ide import hints, lenses

if TYPE_CHECKING:
    from tirlens.ide.hints import Hint
    from tirlens.model.report import KernelReport
    from tirlens.pipeline import FileReport
    from tirlens.source.source_file import KernelSource, SourceFile
    from tirlens_worker.protocol import Result

Lens = tuple[lenses.Part, ...]
#: Seconds by what identifies a kernel, its arguments and its device.
Times = Mapping[tuple[object, ...], float]


@dataclass(frozen=True)
class Reading:
    """What the text alone says."""

    text: str
    lines: Sequence[str]
    source: SourceFile


@dataclass(frozen=True)
class Analysis:
    """What the worker and the model found for one text, on one device with one set of options.

    `before_s` are the times of the kernels in the text that was analysed before this one.
    """

    reading: Reading
    result: Result
    report: FileReport
    before_s: Times = field(default_factory=dict[tuple[object, ...], float])

    def reports_of(self, kernel: KernelSource) -> list[KernelReport]:
        """The reports of `kernel`, found by the place of its `def`, else by its name."""
        at_line = self._reports_at.get(kernel.span.line)
        if at_line:
            return at_line
        names = {kernel.name, kernel.name.rpartition(".")[2], kernel.prim_func}
        return [item for item in self.report.kernels if item.definition in names]

    def same_kernel(self, kernel: KernelSource) -> KernelSource | None:
        """The kernel of the analysed text that `kernel` is; several may share a name."""
        same = self._sources_named.get((kernel.name, kernel.prim_func), ())
        return min(same, key=lambda item: abs(item.span.line - kernel.span.line), default=None)

    def times_before(self, reading: Reading) -> Times:
        """The times to compare an analysis of `reading` with, which follows this one.

        A text without figures, such as one with a syntax error, leaves those before it.
        """
        is_same = reading.text == self.reading.text
        return self.before_s if is_same or not self._times_s else self._times_s

    def hints(self, smallest_share: float) -> list[Hint]:
        """The hints of all kernels but for lines below this share of their kernel's time."""
        return [
            hint for report in self.report.kernels for hint in hints.hints(report, smallest_share)
        ]

    def lens(self, kernel: KernelSource) -> Lens:
        """What the lens of a kernel of the analysed text says."""
        return self.lenses[kernel.span.line, kernel.name]

    @cached_property
    def lenses(self) -> Mapping[tuple[int, str], Lens]:
        """The lenses of all kernels, by the lines of their `def` in the analysed text and names."""
        kernels = self.reading.source.kernels
        return {(kernel.span.line, kernel.name): self._lens(kernel) for kernel in kernels}

    @cached_property
    def files(self) -> frozenset[str]:
        """The other files of the user's that it depends on, also those that are missing."""
        return frozenset(map(os.path.realpath, self.result.files))

    @cached_property
    def _times_s(self) -> Times:
        return {_key(item): item.time_s for item in self.report.kernels if item.time_s is not None}

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

    def _lens(self, kernel: KernelSource) -> Lens:
        reports = self.reports_of(kernel)
        parts = [
            part
            for report in reports
            for part in lenses.parts(report, self.before_s.get(_key(report)))
        ]
        for need in self.report.needs:
            if need.kernel == kernel.name and not reports:
                parts.extend(lenses.needs(need.names))
        return tuple(parts) or (self._why_not(kernel),)

    def _why_not(self, kernel: KernelSource) -> lenses.Part:
        for problem in self.report.problems:
            if problem.kernel in (kernel.name, None):
                first_line = problem.message.partition("\n")[0]
                if problem.kind == "interpreter":
                    # The message has whole paths and the command to run; the diagnostic shows it.
                    first_line = "no Python with the framework, see the problem"
                return lenses.Part(lenses.failure(first_line), "report")
        return lenses.Part(lenses.failure("no kernel came of it"), "report")


def _key(report: KernelReport) -> tuple[object, ...]:
    """What two times must have in common to be compared: the code that they are of may differ."""
    sizes = tuple(sorted(report.bindings.items()))
    is_lowered = report.lowered is not None
    return report.definition, report.name, report.call, sizes, report.device_id, is_lowered
