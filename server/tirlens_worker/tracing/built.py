"""The kernels that statements of a document build, from the record of its execution."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Union

from ..facts import Built, Span, no_entries
from ..frameworks import relax_graph, tensor_expressions
from ..frameworks.ir import dialect
from ..frameworks.locations.block_lines import NO_LINES, BlockLines, block_names
from ..program import execution, load
from ..program.build_record import BuildRecord, Event, elements, is_tensor_expression
from ..program.compilations import CapturedKernel
from ..protocol import CallCandidate, KernelRequest, NeedsArguments, Problem
from . import assumed_calls
from .assumed_calls import Call
from .failures import Failure, explain
from .kernels import Named, functions

# The most kernels of one statement: a module of a large model has hundreds.
_MAX_FUNCTIONS = 64
_MAX_ASSUMED_CALLS = 4


@dataclass(frozen=True)
class BuiltFunction:
    """An IR function that a statement built; `sizes` and `lines` are those that are known.

    `call` is the call that executed the statement, `dimensions` are as in `Traced`.
    """

    name: Optional[str]
    function: Any
    built: Built
    call: Call
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    dimensions: Mapping[str, str] = field(default_factory=no_entries)
    lines: BlockLines = NO_LINES


class BuiltTracer:
    """Finds the kernels of requests of the style ``built``."""

    def __init__(self, loaded: load.Loaded, record: BuildRecord) -> None:
        self._loaded = loaded
        self._record = record
        self._called: Set[str] = set()
        self._failures: Dict[str, Failure] = {}

    def trace(
        self, request: KernelRequest
    ) -> Tuple[List[BuiltFunction], Union[Problem, NeedsArguments, None]]:
        """The functions that the statements of `request` built, or why they built none.

        A statement that was not reached built none, which is no problem.
        """
        span = request.definition or request.span
        statement = self._loaded.document.statement_at(span)
        if isinstance(statement, ast.FunctionDef):
            return self._graph(request, statement.name), None
        events = self._record.events(span)
        if not events and request.local_to is not None:
            self._call(request)
            events = self._record.events(span)
        found = [
            built
            for event in _without_repeated(events)
            for built in self._functions(event, _call_of(event, request.name))
        ]
        return found[:_MAX_FUNCTIONS], None if found or not request.is_certain else self._why_not(
            request, span
        )

    def _graph(self, request: KernelRequest, entry: str) -> List[BuiltFunction]:
        """The kernels that a Relax function of a class calls."""
        owner = request.name.rpartition(".")[0]
        module = self._loaded.namespace_at(request.span.line).get(owner)
        if type(module).__name__ != "IRModule":
            module = getattr(module, "ir_mod", None)
        calls = [] if module is None else relax_graph.graph_calls(module, entry)
        origin = Call(owner, "module-level", {})
        return [_of_graph(call, "R.function", origin) for call in calls][:_MAX_FUNCTIONS]

    def _functions(self, event: Event, call: Call) -> Iterator[BuiltFunction]:
        for value in _parts(event.value):
            if type(value).__name__ == "IRModule" and relax_graph.has_graph(value):
                for graph_call in relax_graph.graph_calls(value):
                    yield _of_graph(graph_call, event.step, call)
                continue
            if is_tensor_expression(value):
                lines = BlockLines(self._record.operation_lines(value), {})
                function = tensor_expressions.make_function(value)
                yield BuiltFunction(None, function, Built(event.step), call, lines=lines)
                continue
            for name, function in self._changes(event, functions(value)):
                same = self._same(event, function)
                built = Built(event.step, event.sequence, event.number, same_as=same)
                lines = BlockLines(
                    self._record.block_lines(block_names(function), event),
                    self._added_lines(event, function),
                )
                yield BuiltFunction(name, function, built, call, lines=lines)

    def _changes(self, event: Event, found: List[Any]) -> List[Any]:
        """The functions that a version of a schedule changed; all of the first version."""
        versions = self._record.versions(event)
        if len(found) < 2 or len(versions) < 2:
            return found
        before = {hash(function) for _, function in functions(versions[0].value)}
        return [pair for pair in found if hash(pair[1]) not in before] or found[:1]

    def _same(self, event: Event, function: Any) -> Optional[Span]:
        """The earlier statement that built `function`."""
        for other in self._record.earlier(event):
            is_other = other.line != event.line and other.sequence in (None, event.sequence)
            if is_other and any(one.same_as(function) for _, one in functions(other.value)):
                return self._loaded.document.span_of_line(other.line)
        return None

    def _added_lines(self, event: Event, function: Any) -> Dict[str, int]:
        """The lines of the steps that added blocks, by the names of the blocks."""
        known: Set[str] = set()
        lines: Dict[str, int] = {}
        scheduled = event if event.sequence is not None else self._schedule_version(event, function)
        for version in [] if scheduled is None else self._record.versions(scheduled):
            here = {n for _, one in functions(version.value) for n in block_names(one)}
            if known:
                lines.update(dict.fromkeys(here - known, version.line))
            known |= here
        return lines

    def _schedule_version(self, event: Event, function: Any) -> Optional[Event]:
        """The version of a schedule that a compilation or a pass has made `function` of."""
        names = block_names(function)
        found: Optional[Event] = None
        for other in self._record.earlier(event):
            if other.sequence is None:
                continue
            if any(block_names(one) == names for _, one in functions(other.value)):
                found = other
        return found

    def _call(self, request: KernelRequest) -> None:
        """Call the function in which the statements of a request are, unless it was executed."""
        name = request.local_to or ""
        if name in self._called or self._is_executed(request):
            return
        self._called.add(name)
        for call in self._calls(request):
            self._record.choose(call.expression)
            try:
                with self._record.during(call):
                    execution.value_of(call.expression, self._loaded.namespace)
            except BaseException as error:
                self._failures[name] = Failure(call, error)
                span = request.definition or request.span
                if self._record.events(span):
                    return
                continue
            self._failures.pop(name, None)
            return

    def _is_executed(self, request: KernelRequest) -> bool:
        """Whether the function around the statements has built something."""
        path = self._loaded.document.definitions_along(request.local_to or "", request.span.line)
        if not path:
            return False
        first, last = path[-1].lineno, path[-1].end_lineno or 0
        return bool(self._record.events(Span(first, 0, last + 1, 0)))

    def _calls(self, request: KernelRequest) -> Iterator[CallCandidate]:
        for candidate in request.candidates:
            yield self._on_object(request, candidate)
        if request.allow_assumed and assumed_calls.required_around(self._loaded.document, request):
            names = self._loaded.namespace
            calls = assumed_calls.calls_around(self._loaded.document, request, names)
            for call, _ in zip(calls, range(_MAX_ASSUMED_CALLS)):
                yield self._on_object(request, call.candidate())

    def _on_object(self, request: KernelRequest, call: CallCandidate) -> CallCandidate:
        """``TestSplit().test_basic()`` for ``TestSplit.test_basic()``."""
        name = request.local_to or ""
        owner, _, last = name.rpartition(".")
        if not owner or not call.expression.startswith(name):
            return call
        document, names = self._loaded.document, self._loaded.namespace
        made = assumed_calls.instance(document, owner, request, names)
        text = "{}.{}{}".format(made.text, last, call.expression[len(name) :])
        return replace(made.method_call(call), expression=text)

    def _why_not(self, request: KernelRequest, span: Span) -> Union[Problem, NeedsArguments, None]:
        """The error that prevented the statements from building a kernel, if any.

        Of a call whose arguments are assumed, the arguments that are needed.
        """
        document = self._loaded.document
        failure = self._failures.get(request.local_to or "")
        if failure is not None:
            at = document.problem("trace", failure.error, request.name, at=request.span)
            if at.span is not None and at.span.line > span.end_line:
                return None
            if failure.candidate.source == "assumed":
                missing = assumed_calls.required_around(document, request)
                around = replace(request, name=request.local_to or request.name)
                return explain(self._loaded, around, [failure], missing)
            return self._loaded.with_description(at, failure.error)
        if request.local_to is None:
            return self._loaded.failure_at(request)
        return None


def _without_repeated(events: List[Event]) -> List[Event]:
    """`events` without those of calls whose arguments are assumed, where the document has own ones.

    Nor are those of other calls among them that build what the document itself has built.
    """
    own = [functions(event.value) for event in events if event.origin is None]
    return [
        event
        for event in events
        if event.origin is None
        or (
            not (own and event.origin.source == "assumed")
            and not any(_is_same(functions(event.value), other) for other in own)
        )
    ]


def _is_same(some: List[Named], others: List[Named]) -> bool:
    """Whether two lists have the same functions under the same names."""
    return len(some) == len(others) and all(
        name == other_name and dialect.is_equal(one, other)
        for (name, one), (other_name, other) in zip(some, others)
    )


def _call_of(event: Event, name: str) -> Call:
    """The call that executed the statement `name` of an event: that of the function around it.

    That of the tracer stays where its arguments are assumed, or where the inner call has none.
    """
    origin = event.origin
    if origin is not None:
        is_inner = origin.source != "assumed" and not event.call.endswith("()")
        text = (event.call if is_inner else "") or origin.expression
        return Call(text, origin.source, origin.assumed, origin.model)
    if event.call:
        return Call(event.call, "call-site", {})
    return Call(name, "module-level", {})


def _parts(value: Any) -> Iterator[Any]:
    """The functions, modules and compiled kernels in `value`, each compilation as its module."""
    if isinstance(value, CapturedKernel):
        yield from _parts(value.prim_func)
    elif isinstance(value, (list, tuple, dict)):
        for one in elements(value):
            yield from _parts(one)
    else:
        yield value


def _of_graph(call: relax_graph.GraphCall, step: str, origin: Call) -> BuiltFunction:
    arrays = relax_graph.array_types(call)
    built = Built(step, entry=call.entry, calls=call.calls, arrays=arrays)
    sizes, dimensions = call.sizes, call.dimensions
    return BuiltFunction(call.name, call.function, built, origin, sizes, dimensions)
