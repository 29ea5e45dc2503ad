"""The plan of one analysis of a document: its text, options and interpreter, and what to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.worker_client import Interpreter, find_interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirlens import pipeline
    from tirlens.session.analysis import Reading
    from tirlens.session.configuration import Configuration
    from tirlens.session.document import Document


@dataclass(frozen=True)
class Job:
    """One analysis of a document.

    Attributes
    ----------
    generation
        The number of the analysis. The document counts the analyses that were started.
    configuration
        Trust and settings when the analysis was started.
    """

    document: Document
    generation: int
    configuration: Configuration
    reading: Reading
    options: pipeline.Options
    interpreter: Interpreter
    plan: pipeline.Plan

    @property
    def is_current(self) -> bool:
        """Whether no later analysis of the document was started."""
        return self.document.generation == self.generation

    @property
    def path(self) -> str:
        """The path of the document."""
        return self.plan.whole.path

    def with_start_of(self, plan: pipeline.Plan) -> Job:
        """This job for the answer to the request that `plan` has already made."""
        return replace(self, plan=self.plan.with_start_of(plan))


def choose_interpreter(
    configuration: Configuration, document: Document, reading: Reading
) -> tuple[Interpreter, tuple[str, ...]]:
    """The interpreter for a text, and the errors in its project's settings.

    Looks for interpreters on disk and starts them.
    """
    setting, problems = configuration.interpreter_setting(document.path)
    interpreter = find_interpreter(
        document.path,
        setting=setting,
        editor=configuration.editor_interpreter,
        framework_hint=reading.source.framework_hint,
    )
    return interpreter, problems


def plan_job(
    identity: int,
    document: Document,
    generation: int,
    configuration: Configuration,
    reading: Reading,
    interpreter: Interpreter,
    parts: Mapping[bytes, pipeline.Part],
) -> Job:
    """Plan the analysis of `reading`, given the cached `parts` of the document's file.

    Reads the project's settings.
    """
    from tirlens import pipeline

    options = configuration.options(document)
    whole = pipeline.analysis_request(
        identity, str(document.path), reading.text, reading.source, options
    )
    environment = f"{interpreter.path}\0{interpreter.frameworks}"
    plan = pipeline.plan_analysis(whole, reading.source, environment, parts)
    # Computed here in the thread, and cached.
    _ = plan.request
    return Job(document, generation, configuration, reading, options, interpreter, plan)
