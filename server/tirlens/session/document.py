"""An open document: its text now, what the text says, and what the last analysis found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirlens.ide.positions import LineMap
from tirlens.ide.text import split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
        at_line = [item for item in self.report.kernels if item.span.line == kernel.span.line]
        if at_line:
            return at_line
        names = {kernel.name, kernel.name.rpartition(".")[2], kernel.prim_func}
        return [item for item in self.report.kernels if item.definition in names]


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
    _maps: dict[int, tuple[str, Reading, LineMap]] = field(
        default_factory=dict[int, "tuple[str, Reading, LineMap]"]
    )

    @property
    def lines(self) -> list[str]:
        """The lines of the text as it is now."""
        if self._lines is None or self._lines[0] is not self.text:
            self._lines = (self.text, split_lines(self.text))
        return self._lines[1]

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
