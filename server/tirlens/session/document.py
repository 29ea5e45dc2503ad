"""An open document: its text now, what the text says, and what the last analysis found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tirlens.ide import hints
from tirlens.ide.positions import LineMap
from tirlens.ide.text import split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tirlens.ide.hints import Hint
    from tirlens.model.report import KernelReport
    from tirlens.pipeline import FileReport
    from tirlens.source.kernel import KernelSource, SourceFile
    from tirlens_worker.protocol import Result


@dataclass(frozen=True)
class Reading:
    """What the text alone says."""

    text: str
    lines: Sequence[str]
    source: SourceFile


@dataclass(frozen=True)
class Analysis:
    """What the worker and the model found for one text, on one device with one set of options."""

    reading: Reading
    result: Result
    report: FileReport
    duration_s: float

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

    def hints(self, smallest_share: float) -> list[Hint]:
        """The hints of all kernels but for lines below this share of their kernel's time."""
        return [
            hint for report in self.report.kernels for hint in hints.hints(report, smallest_share)
        ]


@dataclass
class Document:
    """One file as the editor has it.

    `saved_text` is the text of the last open or save: what an analysis is of.  `wanted` counts
    the analyses that were asked for, so that the result of an older one can be told.
    """

    uri: str
    path: Path
    version: int
    text: str
    saved_text: str
    reading: Reading | None = None
    analysis: Analysis | None = None
    wanted: int = 0
    running: bool = False
    cancelled: bool = False
    device: str | None = None
    calls: dict[str, str] = field(default_factory=dict[str, str])
    _lines: tuple[str, list[str]] | None = None
    _hints: tuple[Analysis, float, list[Hint]] | None = None
    _maps: dict[int, tuple[str, Reading, LineMap]] = field(
        default_factory=dict[int, "tuple[str, Reading, LineMap]"]
    )

    @property
    def lines(self) -> list[str]:
        """The lines of the text as it is now."""
        if self._lines is None or self._lines[0] is not self.text:
            self._lines = (self.text, split_lines(self.text))
        return self._lines[1]

    def show(self, analysis: Analysis, smallest_share: float, hints: list[Hint]) -> None:
        """Let `analysis`, with its hints, be what is known of this file."""
        self.analysis, self._hints = analysis, (analysis, smallest_share, hints)

    def hints(self, smallest_share: float) -> list[Hint]:
        """The hints of the last analysis, at the lines of its text."""
        if self.analysis is None:
            return []
        kept = self._hints
        if kept is None or kept[0] is not self.analysis or kept[1] != smallest_share:
            kept = (self.analysis, smallest_share, self.analysis.hints(smallest_share))
            self._hints = kept
        return kept[2]

    def map_from(self, reading: Reading) -> LineMap:
        """Where the lines of `reading` stand now; kept until the text changes."""
        kept = self._maps.get(id(reading))
        if kept is not None and kept[0] is self.text and kept[1] is reading:
            return kept[2]
        if len(self._maps) > 1:
            self._maps = {key: kept for key, kept in self._maps.items() if kept[0] is self.text}
        found = LineMap.between(reading.lines, self.lines)
        self._maps[id(reading)] = (self.text, reading, found)
        return found
