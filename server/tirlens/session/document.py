"""An open document: its text now, what the text says, and what the last analysis found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirlens.ide.positions import LineMap
from tirlens.ide.text import split_lines

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.ide.hints import Hint
    from tirlens.session.analysis import Analysis, Reading


@dataclass(eq=False)
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
