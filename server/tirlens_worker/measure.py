"""The process that compiles and times kernels on the device of this machine.

It is started as ``PYTHON .../tirlens_worker/__main__.py measure``.  Unlike an analysis it runs the
user's kernels, with access to the device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator, Optional, Tuple, Union

from . import analysis, codec
from .facts import Assembly, KernelFacts
from .process import stdio
from .program import defined_values, patches
from .program.document import Document, describe
from .program.load import Loaded, load
from .protocol import (
    ASSEMBLY,
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

    The process ends with the pipe, or after a kernel that leaves the device unusable.
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
    """One text, which is executed at the request for its first kernel."""

    def __init__(self, request: Measure) -> None:
        self._request = request
        self._read: Optional[Tuple[Loaded, Tracer]] = None

    def answers(self, kernel: KernelRequest) -> Iterator[Answer]:
        """The answers about one kernel; with the first, the problems of the text."""
        if self._read is None:
            try:
                document = Document(self._request.path, self._request.text)
                defined_values.record_definitions(document)
            except (SyntaxError, ValueError) as error:
                yield Problem("syntax", describe(error))
                return
            patches.install_captures()
            analysis.enter_folder(self._request.path)
            loaded = load(document, self._request.sys_path, lambda line: None)
            yield from loaded.problems
            # The file may have imported modules to patch.
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
    """`facts` with the launch, or on a CPU the assembly, of the timed code."""
    if timing is not None and timing.target.get("kind") == "llvm":
        return _with_assembly(traced, facts, str(timing.target.get("mcpu", "")))
    if facts.framework != "tilelang" or timing is None:
        return facts
    from .frameworks.lowering.lower import LoweringError, lower

    try:
        return replace(facts, lowered=(lower(traced.function, timing.target),))
    except LoweringError:
        return facts


def _with_assembly(traced: Traced, facts: KernelFacts, processor: str) -> KernelFacts:
    from .frameworks.lowering.generate import generate
    from .frameworks.lowering.lower import LoweringError

    try:
        target = {"kind": "llvm", "arch": processor}
        (made,) = generate(traced.function, facts.framework, target, "", (ASSEMBLY,))
    except LoweringError:
        return facts
    return replace(facts, assembly=(Assembly(processor, made.text),))
