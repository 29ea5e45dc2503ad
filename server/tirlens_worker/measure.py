"""Compile and time kernels on the machine's own device: a process for one request, then its end.

Started as ``PYTHON .../tirlens_worker/__main__.py measure``.  Unlike an analysis this runs the
user's kernels for real: the device is the machine's own, and nothing is kept from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO, Optional, Union

from . import analysis, codec
from .facts import KernelFacts
from .process import stdio
from .program import patches
from .program.document import Document, describe
from .program.load import load
from .protocol import KernelRequest, Measure, Measured, NeedsArguments, Problem, Timing
from .tracing.evaluate import Traced
from .tracing.trace import Tracer

Answer = Union[Measured, NeedsArguments, Problem]


def main() -> int:
    """Read one `Measure` from the pipe and answer it."""
    reader, writer = stdio.claim()
    payload = stdio.read_message(reader)
    if payload is None:
        return 1
    from .frameworks import detect

    detect()
    _Measurement(codec.loads(Measure, payload), writer).run()
    return 0


class _Measurement:
    """One request on its way to its answers."""

    def __init__(self, request: Measure, writer: BinaryIO) -> None:
        self._request = request
        self._writer = writer

    def run(self) -> None:
        from .frameworks import spans

        try:
            document = Document(self._request.path, self._request.text)
        except (SyntaxError, ValueError) as error:
            self._send(Problem("syntax", describe(error)))
            return
        patches.install_captures()
        analysis.enter_folder(self._request.path)
        with spans.recording():
            loaded = load(document, self._request.sys_path, lambda line: None)
            for problem in loaded.problems:
                self._send(problem)
            # What the file has imported may be compiled by now.
            patches.install_captures()
            tracer = Tracer(loaded)
            for kernel in self._request.kernels:
                outcome = tracer.trace(kernel)
                for problem in outcome.problems:
                    self._send(problem)
                if outcome.needs is not None:
                    self._send(outcome.needs)
                for traced in outcome.traced:
                    facts = analysis.facts_of(loaded, kernel, traced)
                    self._send(self._measured(kernel, traced, facts))

    def _measured(self, kernel: KernelRequest, traced: Traced, facts: KernelFacts) -> Measured:
        from .frameworks.arguments import NotMeasuredError
        from .frameworks.running import measure

        sizes = {**facts.sizes, **self._request.sizes, **kernel.bindings}
        try:
            timing = measure(traced.function, facts, sizes, self._request.for_counters)
        except NotMeasuredError as error:
            return Measured(facts, error=str(error))
        except Exception as error:
            return Measured(facts, error=describe(error))
        return Measured(_lowered(traced, facts, timing), timing)

    def _send(self, answer: Answer) -> None:
        stdio.write_message(self._writer, codec.dumps(answer))


def _lowered(traced: Traced, facts: KernelFacts, timing: Optional[Timing]) -> KernelFacts:
    """`facts` with the launch of the code that was timed."""
    if facts.framework != "tilelang" or timing is None:
        return facts
    from .frameworks.lowering import LoweringError, lower

    try:
        return replace(facts, lowered=(lower(traced.function, timing.target),))
    except LoweringError:
        return facts
