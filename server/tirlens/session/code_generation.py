"""The code that frameworks generate for the kernels of an open document."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tirlens.session import machine_code
from tirlens.session.choices import kernel_at
from tirlens.session.job import find_environment
from tirlens.worker_client.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.session.analysis import Analysis
    from tirlens.session.document import Document
    from tirlens.session.session import Session
    from tirlens_worker.protocol import Analyze, Compiler, GeneratedCode, Result

#: The language of machine code.
SASS = "sass"
#: Requests for code are other than those for the same document's lowering; a later one for the
#: same kernel and languages takes the place of an earlier one.
_KEY = "#code"


async def generated_code(
    session: Session, document: Document, kernel: str | int | None, languages: Sequence[str]
) -> dict[str, Any] | None:
    """The code of a kernel of the analysed text, by name or by a current line; None: of all.

    A worker generates it when nothing else is to be done. It is compiled only for machine code: no
    other language waits for a compiler.

    Returns
    -------
    ``kernels`` as `pipeline.generation_request.generated_json`, ``problems``, and
    ``missing_tools``, the names of those without which there is no machine code; None before any
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
        problems = [environment.interpreter.problem.message]
        return {"kernels": [], "problems": problems, "missing_tools": []}
    name = kernel
    if isinstance(kernel, int):
        found = kernel_at(document, kernel)
        name = found.name if found is not None else None
    toolchain = await asyncio.to_thread(find_toolchain, environment.interpreter.path)
    compiler = toolchain.compiler if SASS in languages else None
    answer = _Answer(document, analysis, name, languages, compiler)
    request = answer.request()
    if request is None:
        return {"kernels": [], "problems": [NO_CUDA_KERNEL], "missing_tools": []}
    try:
        result = await session.analyses.queues.defer(
            environment.interpreter, f"{document.uri}{_KEY}{name}{languages}", request
        )
    except asyncio.CancelledError:
        return None
    codes = await asyncio.to_thread(answer.codes, result)
    if SASS in languages:
        machine_code.keep(document, analysis, codes)
    return {**answer.json(result, codes), "missing_tools": list(toolchain.missing)}


class _Answer:
    """The request for the code of an analysed text, and what becomes of its result."""

    def __init__(
        self,
        document: Document,
        analysis: Analysis,
        kernel: str | int | None,
        languages: Sequence[str],
        compiler: Compiler | None,
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

    def codes(self, result: Result) -> list[GeneratedCode]:
        """The code of each kernel, linked to the lines of the analysed text."""
        from tirlens.pipeline.generation_request import linked_code

        return linked_code(result, self._analysis.result.kernels)

    def json(self, result: Result, codes: Sequence[GeneratedCode]) -> dict[str, Any]:
        """The answer for the client."""
        from tirlens.pipeline.generation_request import generated_json

        lines = {one.definition: one.span.line for one in self._analysis.result.kernels}
        return {
            "kernels": [generated_json(code, lines) for code in codes],
            "problems": [problem.message for problem in result.problems],
        }
