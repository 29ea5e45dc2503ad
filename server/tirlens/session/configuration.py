"""What the client has decided: trust, settings, the interpreter that the editor has selected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirlens.settings import DEFAULT_TIMEOUT_S, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.session.document import Document, Reading
    from tirlens.source.kernel import SourceFile
    from tirlens_worker.protocol import Analyze, Result


@dataclass(frozen=True)
class Configuration:
    """Without `trusted` no code of the workspace is run."""

    trusted: bool = False
    settings: Settings = field(default_factory=Settings)
    editor_interpreter: str | None = None

    def options(self, document: Document) -> pipeline.Options:
        """The options for a document: what was chosen for it, its project's, the editor's."""
        # Imported late: the model behind it must not delay the first reading of a text.
        from tirlens import pipeline

        project, _ = Settings.from_pyproject(document.path.parent)
        settings = self.settings
        calls = (*document.calls.values(), *(project.calls or settings.calls))
        timeout_s = project.timeout_s or settings.timeout_s or DEFAULT_TIMEOUT_S
        advice = project.advice if project.advice is not None else settings.advice
        return pipeline.Options(
            device=document.device or settings.device,
            force_device=document.device is not None,
            bindings=settings.bindings,
            time_limit_s=timeout_s,
            advice=advice is not False,
            project=replace(project, calls=calls),
        )

    def interpreter_setting(self, path: Path) -> str | None:
        """The interpreter that the project or the editor's settings name for a file."""
        project, _ = Settings.from_pyproject(path.parent)
        return project.python or self.settings.python

    def request(
        self, identity: int, path: Path, reading: Reading, options: pipeline.Options
    ) -> Analyze:
        from tirlens import pipeline

        return pipeline.request(identity, str(path), reading.text, reading.source, options)

    def report(
        self, source: SourceFile, result: Result, options: pipeline.Options, path: Path
    ) -> pipeline.FileReport:
        from tirlens import pipeline

        return pipeline.report(source, result, options, str(path))
