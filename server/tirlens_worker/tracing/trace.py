"""Tracing of a kernel: its candidate calls, then calls with assumed arguments."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from ..facts import Caveat
from ..program import load, other_versions
from ..protocol import CallCandidate, KernelRequest, NeedsArguments, Problem
from . import assumed_calls, unused_calls
from .assumed_calls import Call
from .built import BuiltTracer
from .device_fit import does_something, fit
from .evaluate import Evaluator, Traced
from .failures import Failure, explain, required_problem
from .unused_calls import EmptyKernelError

# Limit of the search for arguments, which leaves time for other kernels of the file.  It is
# processor time, so that the result does not depend on the load of the machine.
_ASSUME_LIMIT_S = 6.0
# Most kernels that are not usable: more where the sizes do not depend on the arguments.
_MAX_UNUSABLE = 8
# Most kernels with little work, after which one of them is taken.
_MAX_SMALL = 4
# Large sizes are tried as they are, then divided by these.
_DIVISORS = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class Outcome:
    """The outcome of the calls of a kernel: IR functions, or the reasons why there are none."""

    traced: Tuple[Traced, ...] = ()
    problems: Tuple[Problem, ...] = ()
    needs: Optional[NeedsArguments] = None


class Tracer:
    """Traces the kernels of one loaded document."""

    def __init__(self, loaded: load.Loaded) -> None:
        self._loaded = loaded
        self._evaluator = Evaluator(loaded)
        self._built = BuiltTracer(loaded, loaded.record_of_builds)

    def trace(self, request: KernelRequest) -> Outcome:
        """The kernels of all required candidates of `request`, else of the first that works."""
        if request.style == "built":
            return self._trace_built(request)
        outcome = self._trace_kernel(request)
        for traced in outcome.traced:
            self._loaded.record_of_builds.choose(traced.call)
        return outcome

    def _trace_kernel(self, request: KernelRequest) -> Outcome:
        candidates = list(request.candidates)
        is_value = request.style in ("prim_func", "ir_module")
        if is_value and not candidates:
            candidates.append(CallCandidate(request.local_to or request.name, "module-level"))
        traced: List[Traced] = []
        problems: List[Problem] = []
        for candidate in [candidate for candidate in candidates if candidate.required]:
            try:
                traced += self._evaluator.evaluate(request, candidate)
            except BaseException as error:
                problem = required_problem(self._loaded, request, candidate, error)
                problems.append(replace(problem, call=candidate.expression))
        if traced or problems:
            return Outcome(tuple(traced), tuple(problems))
        failures: List[Failure] = []
        empty_calls: List[Failure] = []
        empty: Optional[Outcome] = None
        for candidate in candidates:
            try:
                outcome = Outcome(self._evaluator.evaluate(request, candidate))
            except BaseException as error:
                failures.append(Failure(candidate, error))
                continue
            document = self._loaded.document
            if any(does_something(traced.function, document) for traced in outcome.traced):
                return outcome
            # The default of an argument that the program replaces, such as 0 multiprocessors, or
            # the call of a check that expects no work.
            empty = empty or outcome
            empty_calls.append(Failure(candidate, EmptyKernelError()))
        if request.allow_assumed and (request.local_to or not is_value):
            unused = (*empty_calls, *failures)
            found = self._assume(request, failures)
            if found.traced or empty is None:
                return _with_caveats(found, tuple(unused_calls.caveats(unused, request.span)))
            return empty
        return empty or self._failure_outcome(request, failures, ())

    def _trace_built(self, request: KernelRequest) -> Outcome:
        found, why = self._built.trace(request)
        traced = (
            Traced(
                one.function,
                request.span,
                one.call.text,
                one.call.source,
                one.call.assumed,
                one.call.model,
                one.name,
                one.built,
                one.sizes,
                one.lines,
                dimensions=one.dimensions,
            )
            for one in found
        )
        if isinstance(why, NeedsArguments):
            return Outcome(tuple(traced), needs=why)
        return Outcome(tuple(traced), () if why is None else (why,))

    def _assume(self, request: KernelRequest, failures: List[Failure]) -> Outcome:
        document = self._loaded.document
        try:
            value = None if request.local_to else self._evaluator.lookup(request)
        except Exception as error:
            failures.append(Failure(CallCandidate(request.name, "module-level"), error))
            return self._failure_outcome(request, failures, ())
        found = self._search(request, value, failures)
        if found is not None:
            return found
        missing = (
            assumed_calls.required_around(document, request)
            if request.local_to
            else assumed_calls.required_names(document, value, request)
        )
        return self._failure_outcome(request, failures, missing)

    def _search(
        self, request: KernelRequest, value: Any, failures: List[Failure]
    ) -> Optional[Outcome]:
        """The first call that yields a usual kernel, else the best of the others."""
        tried = {failure.candidate.expression for failure in failures}
        deadline = time.process_time() + _ASSUME_LIMIT_S
        small: List[Outcome] = []
        unusable: List[Outcome] = []
        # Their sizes are those of a model, and their blocks the author's or the smallest.
        consistent: List[Outcome] = []
        is_large = False
        for divisor in _DIVISORS:
            for call in self._calls(request, value, divisor):
                if call.text in tried:
                    continue
                if consistent and not call.is_consistent:
                    return consistent[0]
                tried.add(call.text)
                is_over = time.process_time() > deadline
                if is_over or len(unusable) == _MAX_UNUSABLE or len(small) == _MAX_SMALL:
                    break
                candidate = call.candidate()
                try:
                    outcome = Outcome(self._evaluator.evaluate(request, candidate))
                except BaseException as error:
                    failures.append(Failure(candidate, error))
                    if other_versions.foreign_word(error):
                        break
                    continue
                document = self._loaded.document
                fits = [fit(one.function, document, request.hints) for one in outcome.traced]
                is_large = any(one.is_large for one in fits)
                if not is_large and all(one.is_launchable for one in fits):
                    if not all(one.is_small for one in fits):
                        return outcome
                    small.append(outcome)
                    continue
                (consistent if call.is_consistent and not is_large else unusable).append(outcome)
                if is_large and divisor != _DIVISORS[-1]:
                    break
            if not is_large and not (small and unusable):
                break
        if consistent or small:
            return (consistent or small)[0]
        return (unusable[-1] if is_large else unusable[0]) if unusable else None

    def _calls(self, request: KernelRequest, value: Any, divisor: int) -> Iterator[Call]:
        document = self._loaded.document
        if request.local_to:
            return assumed_calls.calls_around(document, request, self._loaded.namespace, divisor)
        return assumed_calls.calls(document, value, request.name, request, divisor)

    def _failure_outcome(
        self, request: KernelRequest, failures: Sequence[Failure], missing: Tuple[str, ...]
    ) -> Outcome:
        why = explain(self._loaded, request, failures, missing)
        return Outcome(problems=(why,)) if isinstance(why, Problem) else Outcome(needs=why)


def _with_caveats(outcome: Outcome, caveats: Tuple[Caveat, ...]) -> Outcome:
    """`outcome` with caveats of its functions."""
    traced = tuple(replace(one, caveats=(*one.caveats, *caveats)) for one in outcome.traced)
    return replace(outcome, traced=traced)
