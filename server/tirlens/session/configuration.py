"""What the client has decided: trust, settings, the interpreter that the editor has selected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirlens.settings import DEFAULT_TIMEOUT_S, Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tirlens import pipeline
    from tirlens.session.analysis import Reading
    from tirlens.session.document import Document
    from tirlens_worker.protocol import Result


@dataclass(frozen=True)
class Configuration:
    """Without `trusted` no code of the workspace is run."""

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
        """What decides, beside the analyses, what is shown of a file."""
        settings = self.settings
        return self.trusted, settings.inlay_hints, settings.code_lens, self.smallest_share

    def options(self, document: Document) -> pipeline.Options:
        """The options for a document: what was chosen for it, its project's, the editor's."""
        # Imported late: the model behind it must not delay the first reading of a text.
        from tirlens import pipeline

        project, _ = Settings.from_pyproject(document.path.parent)
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

    def interpreter_setting(self, path: Path) -> tuple[str | None, tuple[str, ...]]:
        """The interpreter that the project or the editor's settings name for a file, and what is
        wrong with the project's."""
        project, wrong = Settings.from_pyproject(path.parent)
        return project.python or self.settings.python, wrong

    def plan(
        self,
        identity: int,
        document: Document,
        reading: Reading,
        interpreter: str,
        known: Callable[[bytes], pipeline.Part | None],
    ) -> pipeline.Plan:
        """What to ask a worker about a reading, given what is known."""
        from tirlens import pipeline

        whole = pipeline.request(
            identity, str(document.path), reading.text, reading.source, self.options(document)
        )
        return pipeline.Plan(whole, reading.source, interpreter, known)

    def report(
        self,
        document: Document,
        plan: pipeline.Plan,
        result: Result,
        modelled: pipeline.Modelled,
    ) -> tuple[pipeline.Plan | None, pipeline.FileReport]:
        """The report of `result`, the answer to `plan`, and how to lower its kernels.

        What is known of that already is in the report, and what is in `modelled` is as it is there.
        """
        from tirlens import pipeline

        options = self.options(document)
        lowering = pipeline.lowering_plan(plan, result, options)
        if lowering is not None:
            result = pipeline.with_lowered(result, lowering.result())
        path = str(document.path)
        return lowering, pipeline.report(plan.source, result, options, path, modelled)
