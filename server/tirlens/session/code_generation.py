"""The code that frameworks generate for the kernels of an open document."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tirlens.session.choices import kernel_at
from tirlens.session.job import find_environment
from tirlens.worker_client.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.session.analysis import Analysis
    from tirlens.session.document import Document
    from tirlens.session.session import Session
    from tirlens_worker.protocol import Analyze, Compiler, Result

#: Requests for code are other than those for the same document's lowering.
_KEY = "#code"


async def generated_code(
    session: Session, document: Document, kernel: str | int | None, languages: Sequence[str]
) -> dict[str, Any] | None:
    """The code of a kernel of the analysed text, by name or by a current line; None: of all.

    A worker generates it when nothing else is to be done.

    Returns
    -------
    ``kernels`` as `pipeline.generation_request.generated_json`, and ``problems``; None before any
    analysis, or if a later request takes the place of this one.
    """
    from tirlens.pipeline.generation_request import NO_CUDA_KERNEL

    analysis = document.analysis
    if analysis is None or analysis.options is None or not session.configuration.trusted:
        return None
    configuration = session.configuration.at(document.path)
    environment = await asyncio.to_thread(
        find_environment, configuration, document, analysis.reading
    )
    if environment.interpreter.problem is not None:
        return {"kernels": [], "problems": [environment.interpreter.problem.message]}
    name = kernel
    if isinstance(kernel, int):
        found = kernel_at(document, kernel)
        name = found.name if found is not None else None
    toolchain = await asyncio.to_thread(find_toolchain, environment.interpreter.path)
    answer = _Answer(document, analysis, name, languages, toolchain.compiler)
    request = answer.request()
    if request is None:
        return {"kernels": [], "problems": [NO_CUDA_KERNEL]}
    try:
        result = await session.analyses.queues.defer(
            environment.interpreter, document.uri + _KEY, request
        )
    except asyncio.CancelledError:
        return None
    return await asyncio.to_thread(answer.json, result)


class _Answer:
    """The request for the code of an analysed text, and what becomes of its result."""

    def __init__(
        self,
        document: Document,
        analysis: Analysis,
        kernel: str | int | None,
        languages: Sequence[str],
        compiler: Compiler,
    ) -> None:
        self._compiler = compiler
        self._path, self._analysis = str(document.path), analysis
        self._kernel, self._languages = kernel, languages

    def request(self) -> Analyze | None:
        """The request to the worker; None where there is no kernel to generate code for."""
        from tirlens import pipeline
        from tirlens.pipeline.generation_request import generation_request

        analysis, options = self._analysis, self._analysis.options
        assert options is not None
        reading = analysis.reading
        first = pipeline.analysis_request(0, self._path, reading.text, reading.source, options)
        request = generation_request(
            first, analysis.result, reading.source, options, self._languages, self._compiler
        )
        if request is None or self._kernel is None:
            return request
        kernels = tuple(one for one in request.kernels if one.name == self._kernel)
        return replace(request, kernels=kernels) if kernels else None

    def json(self, result: Result) -> dict[str, Any]:
        """The answer for the client."""
        from tirlens.pipeline.generation_request import generated_json, linked_code

        facts = self._analysis.result.kernels
        lines = {kernel.definition: kernel.span.line for kernel in facts}
        return {
            "kernels": [generated_json(code, lines) for code in linked_code(result, facts)],
            "problems": [problem.message for problem in result.problems],
        }
