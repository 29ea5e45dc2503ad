"""The configuration of a client: trust, settings, and the interpreter that the editor selects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirlens.settings import DEFAULT_TIMEOUT_S, Settings

if TYPE_CHECKING:
    from tirlens import pipeline
    from tirlens.session.document import Document


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
    """

    trusted: bool = False
    settings: Settings = field(default_factory=Settings)
    editor_interpreter: str | None = None

    @property
    def smallest_share(self) -> float:
        """A line below this share of its kernel's time gets no hint."""
        percentage = self.settings.min_percentage
        return (1.0 if percentage is None else percentage) / 100

    @property
    def display(self) -> tuple[object, ...]:
        """The values that determine what is shown of a file, with its analysis."""
        settings = self.settings
        return self.trusted, settings.inlay_hints, settings.code_lens, self.smallest_share

    def options(self, document: Document, project: Settings) -> pipeline.Options:
        """The options for a document: its own choices, then its project's, then the editor's."""
        # Imported late: the model behind it must not delay the first reading of a text.
        from tirlens import pipeline

        settings = self.settings
        calls = (*document.calls.values(), *(project.calls or settings.calls))
        timeout_s = project.timeout_s or settings.timeout_s or DEFAULT_TIMEOUT_S
        advice = project.advice if project.advice is not None else settings.advice
        lower = project.lower if project.lower is not None else settings.lower
        return pipeline.Options(
            device=document.device or settings.device,
            force_device=document.device is not None,
            bindings=settings.bindings,
            time_limit_s=timeout_s,
            advice=advice is not False,
            lower=lower is not False,
            project=replace(project, calls=calls),
        )
