"""The plan of one analysis of a document: its text, options and interpreter, and what to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirlens.settings import Settings
from tirlens.worker_client import Interpreter, find_interpreter
from tirlens.worker_client.toolchain import NO_TOOLCHAIN, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirlens import pipeline
    from tirlens.session.analysis import Reading
    from tirlens.session.configuration import Configuration
    from tirlens.session.display import Display
    from tirlens.session.document import Document
    from tirlens_worker.protocol import Compiler, Result


@dataclass(frozen=True)
class Job:
    """One analysis of a document.

    Attributes
    ----------
    generation
        The number of the analysis. The document counts the analyses that were started.
    configuration
        Trust and settings when the analysis was started.
    named_device
        The device that is named for the first kernel; None if its target may decide.
    compiler
        What compiles the kernels; without a path where it is not at hand.
    """

    document: Document
    generation: int
    configuration: Configuration
    reading: Reading
    options: pipeline.Options
    interpreter: Interpreter
    plan: pipeline.Plan
    named_device: str | None
    compiler: Compiler

    @property
    def is_current(self) -> bool:
        """Whether no later analysis of the document was started."""
        return self.document.generation == self.generation

    @property
    def display(self) -> Display:
        """What the document displays under this configuration."""
        return self.configuration.display(self.options.project, self.document.room)

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


def complete(plan: pipeline.Plan, answer: Result) -> tuple[Result, dict[bytes, pipeline.Part]]:
    """The result of `plan` with `answer`, and its parts for the cache."""
    result = plan.result(answer)
    return result, plan.cacheable_parts(result, plan.unknown_names)


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
    plan = pipeline.plan_analysis(whole, reading.source, _environment_key(interpreter), parts)
    # Computed here in the thread, and cached.
    _ = plan.steps
    device = pipeline.named_device(next(iter(reading.source.kernels), None), options)
    toolchain = find_toolchain(interpreter.path) if options.compile else NO_TOOLCHAIN
    return Job(
        document,
        generation,
        configuration,
        reading,
        options,
        interpreter,
        plan,
        device,
        toolchain.compiler,
    )


def plan_other_text(
    job: Job, document: Document, reading: Reading, parts: Mapping[bytes, pipeline.Part]
) -> Job:
    """Plan the analysis of `reading`, another text of the same file, as `job` is planned.

    `document` has the other text. There is no advice on it.
    """
    from tirlens import pipeline

    options = replace(job.options, advice=False)
    whole = pipeline.analysis_request(
        job.plan.whole.id, job.path, reading.text, reading.source, options
    )
    plan = pipeline.plan_analysis(whole, reading.source, _environment_key(job.interpreter), parts)
    return replace(
        job,
        document=document,
        generation=document.generation,
        reading=reading,
        options=options,
        plan=plan,
    )


def _environment_key(interpreter: Interpreter) -> str:
    return f"{interpreter.identity}\0{interpreter.variables}"
