"""The plan of one analysis of a document: its text, options and interpreter, and what to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.settings import Settings
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


@dataclass(frozen=True)
class Environment:
    """What the folder of a document determines.

    Attributes
    ----------
    interpreter
        The Python that runs the document's text.
    project
        The settings of the document's project.
    problems
        The errors in these settings.
    """

    interpreter: Interpreter
    project: Settings
    problems: tuple[str, ...]


def find_environment(
    configuration: Configuration, document: Document, reading: Reading
) -> Environment:
    """The interpreter for a text, and the settings of its project.

    Reads the settings, looks for interpreters on disk and starts them.
    """
    project, problems = Settings.from_pyproject(document.path.parent)
    interpreter = find_interpreter(
        document.path,
        setting=project.python or configuration.settings.python,
        editor=configuration.editor_interpreter,
        framework_hint=reading.source.framework_hint,
    )
    variables = (*configuration.settings.environment, *project.environment)
    return Environment(replace(interpreter, variables=variables), project, problems)


def plan_job(
    identity: int,
    document: Document,
    generation: int,
    configuration: Configuration,
    reading: Reading,
    environment: Environment,
    parts: Mapping[bytes, pipeline.Part],
) -> Job:
    """Plan the analysis of `reading`, given the cached `parts` of the document's file."""
    from tirlens import pipeline

    interpreter = environment.interpreter
    options = configuration.options(document, environment.project)
    whole = pipeline.analysis_request(
        identity, str(document.path), reading.text, reading.source, options
    )
    python = f"{interpreter.path}\0{interpreter.frameworks}\0{interpreter.variables}"
    plan = pipeline.plan_analysis(whole, reading.source, python, parts)
    # Computed here in the thread, and cached.
    _ = plan.steps
    return Job(document, generation, configuration, reading, options, interpreter, plan)
