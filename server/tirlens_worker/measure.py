"""Compile and time kernels on the machine's own device, one after the other.

Started as ``PYTHON .../tirlens_worker/__main__.py measure``.  Unlike an analysis this runs the
user's kernels for real: the device is the machine's own, and nothing is kept from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator, Optional, Tuple, Union

from . import analysis, codec
from .facts import KernelFacts
from .process import stdio
from .program import patches
from .program.document import Document, describe
from .program.load import Loaded, load
from .protocol import (
    Answered,
    KernelRequest,
    Measure,
    Measured,
    NeedsArguments,
    Problem,
    Timing,
)
from .tracing.evaluate import Traced
from .tracing.trace import Tracer

Answer = Union[Measured, NeedsArguments, Problem]


def main() -> int:
    """Read a `Measure` from the pipe and answer each `KernelRequest` that follows it.

    The process ends with the pipe, and after a kernel that has left the device unusable.
    """
    reader, writer = stdio.claim()
    payload = stdio.read_message(reader)
    if payload is None:
        return 1
    from .frameworks import detect
    from .frameworks.benchmarking import timing
    from .frameworks.locations import spans

    detect()
    with spans.recording():
        session = _Session(codec.loads(Measure, payload))
        while True:
            payload = stdio.read_message(reader)
            if payload is None:
                return 0
            for answer in session.answers(codec.loads(KernelRequest, payload)):
                stdio.write_message(writer, codec.dumps(answer))
            is_last = not timing.is_usable()
            stdio.write_message(writer, codec.dumps(Answered(is_last)))
            if is_last:
                return 0


class _Session:
    """One text, read when its first kernel is asked for."""

    def __init__(self, request: Measure) -> None:
        self._request = request
        self._read: Optional[Tuple[Loaded, Tracer]] = None

    def answers(self, kernel: KernelRequest) -> Iterator[Answer]:
        """What comes of one kernel; with the first, what is wrong with the text as a whole."""
        if self._read is None:
            try:
                document = Document(self._request.path, self._request.text)
            except (SyntaxError, ValueError) as error:
                yield Problem("syntax", describe(error))
                return
            patches.install_captures()
            analysis.enter_folder(self._request.path)
            loaded = load(document, self._request.sys_path, lambda line: None)
            yield from loaded.problems
            # What the file has imported may be compiled by now.
            patches.install_captures()
            self._read = loaded, Tracer(loaded)
        loaded, tracer = self._read
        outcome = tracer.trace(kernel)
        yield from outcome.problems
        if outcome.needs is not None:
            yield outcome.needs
        for traced in outcome.traced:
            yield self._measure_kernel(kernel, traced, analysis.facts_of(loaded, kernel, traced))

    def _measure_kernel(
        self, kernel: KernelRequest, traced: Traced, facts: KernelFacts
    ) -> Measured:
        from .frameworks.benchmarking.kernel_arguments import NotMeasuredError
        from .frameworks.benchmarking.timing import measure

        sizes = {**facts.sizes, **self._request.sizes, **kernel.bindings}
        try:
            timing = measure(traced.function, facts, sizes, self._request.for_counters)
        except NotMeasuredError as error:
            return Measured(facts, error=str(error))
        except Exception as error:
            return Measured(facts, error=describe(error))
        return Measured(_with_launch(traced, facts, timing), timing)


def _with_launch(traced: Traced, facts: KernelFacts, timing: Optional[Timing]) -> KernelFacts:
    """`facts` with the launch of the code that was timed."""
    if facts.framework != "tilelang" or timing is None:
        return facts
    from .frameworks.lowering.lower import LoweringError, lower

    try:
        return replace(facts, lowered=(lower(traced.function, timing.target),))
    except LoweringError:
        return facts
