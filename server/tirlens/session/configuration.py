"""The configuration of a client: trust, settings, and the interpreter that the editor selects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirlens.session.display import Display, Room
from tirlens.settings import (
    DEFAULT_HINT_COLUMNS,
    DEFAULT_LENS_CHARACTERS,
    DEFAULT_MIN_PERCENTAGE,
    DEFAULT_TIMEOUT_S,
    DETAILS,
    Settings,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.session.document import Document

# In a narrower editor, code itself does not fit, and a reader scrolls to its hints.
_LEAST_COLUMNS = 80


@dataclass(frozen=True)
class Folder:
    """A folder of the editor's window with choices of its own.

    Attributes
    ----------
    path
        Files below it have these choices.
    settings
        All settings that hold there.
    editor_interpreter
        The interpreter that the editor has selected there.
    """

    path: Path
    settings: Settings = field(default_factory=Settings)
    editor_interpreter: str | None = None


@dataclass(frozen=True)
class Configuration:
    """The choices of the client.

    Attributes
    ----------
    trusted
        Whether code of the workspace may run.
    settings
        The settings of the editor.
    editor_interpreter
        The interpreter that the editor has selected.
    detail
        What the user has chosen to display in this session, one of `tirlens.settings.DETAILS`.
    folders
        The folders of a window that has several.
    """

    trusted: bool = False
    settings: Settings = field(default_factory=Settings)
    editor_interpreter: str | None = None
    detail: str | None = None
    folders: tuple[Folder, ...] = ()

    def at(self, path: Path) -> Configuration:
        """The configuration of a file: with the choices of the innermost folder that has it."""
        above = [folder for folder in self.folders if path.is_relative_to(folder.path)]
        if not above:
            return self
        folder = max(above, key=lambda one: len(one.path.parts))
        return replace(self, settings=folder.settings, editor_interpreter=folder.editor_interpreter)

    def displays(self) -> tuple[Display, ...]:
        """What is displayed of files without a project, outside of the folders and in each."""
        settings = (self.settings, *(folder.settings for folder in self.folders))
        return tuple(replace(self, settings=one).display(Settings()) for one in settings)

    def display(self, project: Settings, room: Room | None = None) -> Display:
        """What is displayed of a file: the user's choice, then its project's, then the editor's.

        It fits into `room`, if that is known.
        """
        settings = self.settings.merge(project)
        percentage = settings.min_percentage
        columns = settings.hint_columns or DEFAULT_HINT_COLUMNS
        characters = settings.lens_characters or DEFAULT_LENS_CHARACTERS
        return Display(
            detail=self.detail or settings.show or DETAILS[0],
            hints=settings.inlay_hints is not False,
            lenses=settings.code_lens is not False,
            heat=settings.gutter_heat is True,
            smallest_share=(DEFAULT_MIN_PERCENTAGE if percentage is None else percentage) / 100,
            hint_columns=columns
            if room is None
            else min(columns, max(room.columns, _LEAST_COLUMNS)),
            hint_changes=settings.hint_changes is True,
            lens_characters=characters if room is None else min(characters, room.lens_characters),
        )

    def options(self, document: Document, project: Settings) -> pipeline.Options:
        """The options for a document: its own choices, then its project's, then the editor's."""
        # Imported late: the model behind it must not delay the first reading of a text.
        from tirlens import pipeline

        settings = self.settings
        calls = (*document.calls.values(), *(project.calls or settings.calls))
        timeout_s = project.timeout_s or settings.timeout_s or DEFAULT_TIMEOUT_S
        advice = project.advice if project.advice is not None else settings.advice
        lower = project.lower if project.lower is not None else settings.lower
        compile_ = project.compile if project.compile is not None else settings.compile
        return pipeline.Options(
            device=document.device or settings.device,
            force_device=document.device is not None,
            math_fidelity=settings.math_fidelity,
            model=settings.model,
            bindings=settings.bindings,
            time_limit_s=timeout_s,
            advice=advice is not False,
            lower=lower is not False,
            compile=compile_ is not False,
            project=replace(project, calls=calls),
        )
