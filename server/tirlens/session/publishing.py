"""From an answer to what is shown: the model's work, done beside the event loop."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.session.analysis import Analysis

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirlens import pipeline
    from tirlens.ide.hints import Hint
    from tirlens.session.analysis import Reading
    from tirlens.session.configuration import Configuration
    from tirlens.session.document import Document
    from tirlens.session.listener import Listener
    from tirlens.worker_client import Interpreter
    from tirlens_worker.protocol import Result


@dataclass
class Question:
    """What of a document is to be analysed, for which of its wants, and by whom.

    A later want that asks the same may take this one's place while it is being answered.
    """

    document: Document
    wanted: int
    reading: Reading
    interpreter: Interpreter
    plan: pipeline.Plan

    @property
    def is_current(self) -> bool:
        """Whether no later analysis is wanted."""
        return self.document.wanted == self.wanted


@dataclass(frozen=True)
class Answer:
    """What is known of the kernels of a question, and how long a worker took for it."""

    question: Question
    result: Result
    duration_s: float = 0.0


class Publisher:
    """Evaluates answers and shows them, if they are still wanted."""

    def __init__(self, listener: Listener, configuration: Callable[[], Configuration]) -> None:
        self._listener = listener
        self._configuration = configuration
        self._modelled: pipeline.Modelled | None = None

    async def publish(self, answer: Answer) -> pipeline.Plan | None:
        """Show `answer`; how to lower its kernels, None if there is nothing to lower."""
        from tirlens import pipeline

        question, configuration = answer.question, self._configuration()
        modelled = self._modelled = self._modelled or pipeline.Modelled()
        lowering, analysis, hints = await asyncio.to_thread(
            _evaluate, answer, configuration, modelled
        )
        if not question.is_current:
            return None
        document, before = question.document, question.document.analysis
        hints_before = document.hints(configuration.smallest_share)
        document.show(analysis, configuration.smallest_share, hints)
        if document.reading is None or document.reading.text == question.reading.text:
            document.reading = question.reading
        if before is None or before.reading.text != question.reading.text:
            # Also what is the same again stands at other lines, or was not shown since the edits.
            shown = bool(hints or hints_before)
            self._listener.analysed(document, hints=shown, lenses=True)
        elif before.report != analysis.report:
            self._listener.analysed(
                document,
                hints=hints != hints_before,
                lenses=before.lenses != analysis.lenses,
            )
        return lowering


def _evaluate(
    answer: Answer, configuration: Configuration, modelled: pipeline.Modelled
) -> tuple[pipeline.Plan | None, Analysis, list[Hint]]:
    """What the model says of an answer, and what takes a while to make of that."""
    question = answer.question
    lowering, report = configuration.report(
        question.document, question.plan, answer.result, modelled
    )
    analysis = Analysis(question.reading, answer.result, report, answer.duration_s)
    hints = analysis.hints(configuration.smallest_share)
    # Made here, and not when they are asked for.
    assert analysis.lenses is not None
    assert analysis.files is not None
    settle()
    return lowering, analysis, hints


def settle() -> None:
    """Take what there is out of the collector's sight: looking through it holds up requests.

    What an analysis leaves has no cycles and goes when it is no longer referred to.
    """
    gc.collect(1)
    gc.freeze()
