"""An open document: its present text, what the text says, and its last analysis."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirlens.ide.document_text import split_lines
from tirlens.ide.line_map import LineMap
from tirlens.ide.notebook_file import NO_CELLS, CellPlaces
from tirlens.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.ide.hints import Hint
    from tirlens.ide.history import Version
    from tirlens.session.analysis import Analysis, Reading
    from tirlens.session.display import Display, Room
    from tirlens.session.machine_code import MachineCode


@dataclass(eq=False)
class Document:
    """One file as the editor has it.

    Attributes
    ----------
    saved_text
        The text of the last open or save, which is analysed.
    reading
        What the text alone says; None before it was read once.
    analysis
        The last analysis.
    generation
        The number of analyses that were started. A result of an earlier one is not shown.
    project
        The settings of its project, as of the last analysis.
    saved_at_s, saved_version
        When that was, in Unix time, and the editor's number of the text.
    baseline
        The pinned version that its kernels are compared with.
    awaits_save
        Whether it was opened and is not analysed until it is saved or the user asks for it.
    device, calls
        The device and the calls by kernel that the user has chosen.
    cells
        Those of a notebook, whose lines are named by them.
    room
        The room for its hints and lenses; None where the client does not say.
    machine_code
        What its lines became; None before it was asked for.
    """

    uri: str
    path: Path
    version: int
    text: str
    saved_text: str
    reading: Reading | None = None
    analysis: Analysis | None = None
    generation: int = 0
    is_running: bool = False
    is_cancelled: bool = False
    awaits_save: bool = False
    device: str | None = None
    calls: dict[str, str] = field(default_factory=dict[str, str])
    project: Settings = field(default_factory=Settings)
    saved_at_s: float = 0.0
    saved_version: int = 0
    baseline: Version | None = None
    cells: CellPlaces = NO_CELLS
    room: Room | None = None
    machine_code: MachineCode | None = None
    _lines: tuple[str, tuple[str, ...]] | None = None
    _hints: tuple[Analysis, Display, list[Hint]] | None = None
    _maps: dict[int, tuple[str, Reading, LineMap]] = field(
        default_factory=dict[int, "tuple[str, Reading, LineMap]"]
    )

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text as it is now."""
        if self.reading is not None and self.reading.text is self.text:
            self._lines = None
            return self.reading.lines
        if self._lines is None or self._lines[0] is not self.text:
            self._lines = (self.text, split_lines(self.text))
        return self._lines[1]

    def mark_saved(self) -> None:
        """Make the present text the one that is analysed."""
        self.awaits_save = False
        self.saved_text = self.text
        self.saved_at_s, self.saved_version = time.time(), self.version

    def show(self, analysis: Analysis, display: Display, hints: list[Hint]) -> None:
        """Make `analysis`, with its hints, the last analysis of this file."""
        self.analysis, self._hints = analysis, (analysis, display, hints)

    def hints(self, display: Display) -> list[Hint]:
        """The hints of the last analysis, at the lines of its text."""
        if self.analysis is None:
            return []
        cached = self._hints
        if cached is None or cached[0] is not self.analysis or cached[1] != display:
            cached = (self.analysis, display, self.analysis.hints(display))
            self._hints = cached
        return cached[2]

    def map_from(self, reading: Reading) -> LineMap:
        """The present lines of the lines of `reading`; cached until the text changes."""
        cached = self._maps.get(id(reading))
        if cached is not None and cached[0] is self.text and cached[1] is reading:
            return cached[2]
        if len(self._maps) > 1:
            self._maps = {key: one for key, one in self._maps.items() if one[0] is self.text}
        found = LineMap.between(reading.lines, self.lines)
        self._maps[id(reading)] = (self.text, reading, found)
        return found
