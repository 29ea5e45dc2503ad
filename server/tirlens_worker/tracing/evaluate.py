"""Evaluation of calls of kernels in the loaded module, and the IR functions that they yield."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ..facts import Built, Caveat, ModelSizes, Span, no_entries
from ..frameworks import relax_graph
from ..frameworks.locations.block_lines import NO_LINES, BlockLines
from ..program import compilations, defined_values, execution, load, missing_packages
from ..program.document import describe
from ..protocol import CallCandidate, KernelRequest
from . import assumed_calls, local_definitions
from .assumed_calls import Call
from .device_fit import is_launchable
from .failures import ArgumentsError
from .kernels import (
    Named,
    NoKernelError,
    choose,
    functions,
    is_kernel,
    kind,
    symbol,
    with_first_configuration,
)
from .parameters import takes_self

_MAX_UNLAUNCHABLE = 6
_PROGRAM = re.compile(r"_?(test|main|run|bench|check|verify|demo|profile)")


@dataclass(frozen=True)
class Traced:
    """An IR function and the call that yields it.

    `built` and `lines` are set for functions that statements build (`BuiltFunction`). `sizes` are
    those that a graph of Relax gives, `dimensions` the names of the graph's dimensions that
    variables of the function are.
    `caveats` are about the call.
    """

    function: Any
    span: Span
    call: str
    call_source: str
    assumed: Mapping[str, str] = field(default_factory=no_entries)
    model: Optional[ModelSizes] = None
    name: Optional[str] = None
    built: Optional[Built] = None
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    lines: BlockLines = NO_LINES
    caveats: Tuple[Caveat, ...] = ()
    dimensions: Mapping[str, str] = field(default_factory=no_entries)


class _Found(NamedTuple):
    """A call that yields the kernel `value`; `is_last` if no other call was evaluated after it."""

    call: Call
    value: Any
    is_last: bool = False


class Evaluator:
    """Evaluates the calls of the kernels of one loaded document."""

    def __init__(self, loaded: load.Loaded) -> None:
        self._loaded = loaded
        self._document = loaded.document
        # Of the last module.
        self._graph_of: Optional[Tuple[Any, Mapping[Optional[str], relax_graph.GraphCall]]] = None
        # Calls of functions that build several kernels: the value or the error, and the values of
        # the kernels' definitions.
        self._shared: Dict[
            Tuple[str, int], Tuple[Any, Optional[Exception], Dict[int, List[Any]]]
        ] = {}

    def evaluate(self, request: KernelRequest, candidate: CallCandidate) -> Tuple[Traced, ...]:
        """The functions that `candidate` yields.

        Raises:
            BaseException: the error of the user's code.
        """
        found: List[Traced] = []

        def attempt() -> Optional[BaseException]:
            try:
                found.extend(self._evaluate(request, candidate))
            except ImportError as error:
                return error
            return None

        # A function that is called may import a package, too.
        error, _ = missing_packages.attempt_with_stand_ins(attempt, attempt())
        if error is not None:
            raise error
        return tuple(found)

    def _evaluate(self, request: KernelRequest, candidate: CallCandidate) -> Tuple[Traced, ...]:
        _forget_results()
        with self._loaded.record_of_builds.during(candidate):
            value, call = self._value_of_call(request, candidate.expression)
        if call is not None:
            text = "{}.{}".format(candidate.expression, call.text)
            candidate = _with_arguments(candidate, call._replace(text=text))
        return self._chosen(request, candidate, value)

    def _chosen(
        self, request: KernelRequest, candidate: CallCandidate, value: Any
    ) -> Tuple[Traced, ...]:
        """The functions of `value`, which is that of `candidate`, or of what it gives when called.

        Raises:
            BaseException: the error of the user's code.
        """
        chosen = choose(functions(value), request)
        if len(chosen) != 1 or not self._is_own_call(request, candidate.expression):
            found = functions(self._value_of_definition(request))
            chosen = found or (chosen if candidate.required else _with_name(chosen, request))
        if not chosen and self._is_called_again(value):
            return self._evaluate_factory(value, candidate, request)
        if not chosen:
            raise NoKernelError(
                "{} gives {} and not a kernel".format(candidate.expression, kind(value))
            )
        graph = self._graph(value)
        return tuple(
            Traced(
                function,
                self._span(request, name or symbol(function) if len(chosen) > 1 else name),
                candidate.expression,
                candidate.source,
                candidate.assumed,
                candidate.model,
                sizes=graph[name].sizes if name in graph else {},
                dimensions=graph[name].dimensions if name in graph else {},
            )
            for name, function in chosen
        )

    def _graph(self, value: Any) -> Mapping[Optional[str], relax_graph.GraphCall]:
        """The calls of a module's kernels in its graph, by name; none for another value."""
        if type(value).__name__ != "IRModule":
            return {}
        if self._graph_of is None or self._graph_of[0] is not value:
            self._graph_of = value, {**relax_graph.calls_of_own_kernels(value)}
        return self._graph_of[1]

    def _value_of_call(self, request: KernelRequest, expression: str) -> Tuple[Any, Optional[Call]]:
        """The value of a call; if it fails behind the kernel's definition, that of the definition.

        The call is that of a factory inside the called function, if its arguments are assumed.

        Raises:
            BaseException: the error of the user's code.
        """
        try:
            if not self._is_own_call(request, expression):
                return self._value_of_shared_call(request, expression), None
            if request.local_to is not None:
                return self._local(request, expression)
            return self._value(expression, self._names(request)), None
        except Exception:
            if request.local_to is not None and _is_builder(request.local_to):
                with contextlib.suppress(Exception):
                    self._value(self._on_object(request, expression), self._names(request))
            defined = self._value_of_definition(request)
            if defined is None:
                raise
            return defined, None

    def _value_of_shared_call(self, request: KernelRequest, expression: str) -> Any:
        """The value of a call of another function than the kernel's, which is called once."""
        # Of several definitions with one name, each has its own in its namespace.
        replaced = self._document.replaced_at(request.span.line)
        key = expression, replaced.lineno if replaced else 0
        if key not in self._shared:
            value, error = None, None
            try:
                value = self._value(expression, self._names(request))
            except Exception as raised:
                error = raised
            self._shared[key] = value, error, defined_values.all_values()
        value, error, found = self._shared[key]
        defined_values.restore(found)
        if error is not None:
            raise error
        return value

    def _on_object(self, request: KernelRequest, expression: str) -> str:
        """`expression`, a call of the function around a kernel, on an object if it is a method."""
        around = request.local_to or ""
        owner, _, method = around.rpartition(".")
        path = self._document.definitions_along(around, request.span.line)
        if not owner or not takes_self(path[-1] if path else None):
            return expression
        made = assumed_calls.instance(self._document, owner, request, self._names(request))
        return "{}.{}{}".format(made.text, method, expression[len(around) :])

    def _is_own_call(self, request: KernelRequest, expression: str) -> bool:
        """Whether `expression` calls the kernel's own factory, or the function around it."""
        name = request.local_to or request.name
        return expression.startswith((name + "(", name + ".", name.split(".")[0] + "."))

    def _value_of_definition(self, request: KernelRequest) -> Any:
        """The kernel that the definition at the request's line had as its value; None if none."""
        values = defined_values.of(request.span.line)
        return next((value for value in values if is_kernel(value)), None)

    def lookup(self, request: KernelRequest) -> Any:
        """The value of the dotted name of `request` in the module.

        Raises:
            NameError, AttributeError: the name is not defined.
        """
        first, *rest = request.name.split(".")
        names = self._names(request)
        if first not in names:
            raise self._why_undefined(first, request)
        value = names[first]
        for part in rest:
            value = getattr(value, part)
        return value

    def _why_undefined(self, name: str, request: KernelRequest) -> Exception:
        """The reason why the module has no `name`, which its text may define in a branch."""
        path = self._document.definitions_along(name, request.span.line)
        if path and self._loaded.why_missing(name) is None and path[0].col_offset:
            return NoKernelError(
                "{} is defined at line {}, in a branch that is not executed here".format(
                    name, path[0].lineno
                )
            )
        return NameError("name '{}' is not defined".format(name))

    def _names(self, request: KernelRequest) -> Dict[str, Any]:
        return self._loaded.namespace_at(request.span.line)

    def _evaluate_factory(
        self, factory: Any, candidate: CallCandidate, request: KernelRequest
    ) -> Tuple[Traced, ...]:
        """The functions of a call of the `factory` that `candidate` returns: ``build(2)(4096)``."""
        calls = assumed_calls.calls(self._document, factory, candidate.expression, request)
        found, error = self._first(map(_prepare_for, calls), self._names(request))
        if found is None:
            raise error or NoKernelError("{} gives no kernel".format(candidate.expression))
        called = _with_arguments(candidate, found.call)
        return (
            self._chosen(request, called, found.value)
            if found.is_last
            else self.evaluate(request, called)
        )

    def _first(
        self, calls: Iterator[Call], namespace: Dict[str, Any]
    ) -> Tuple[Optional[_Found], Optional[Exception]]:
        """The first call that yields a kernel, and the first error before it.

        Of the first few, one that the device can launch is preferred.
        """
        error: Optional[Exception] = None
        found: List[_Found] = []
        for call in calls:
            candidate = call.candidate()
            try:
                with self._loaded.record_of_builds.during(candidate):
                    value = self._value(call.text, namespace)
            except Exception as raised:
                error = error or raised
                continue
            if not is_kernel(value):
                continue
            if all(is_launchable(item, self._document) for _, item in functions(value)):
                return _Found(call, value, True), error
            found.append(_Found(call, value))
            if len(found) == _MAX_UNLAUNCHABLE:
                break
        return (found[0] if found else None), error

    def _is_called_again(self, value: Any) -> bool:
        """Whether a factory returned another: a jitted function, or a function of the text."""
        if hasattr(getattr(value, "jit_impl", value), "get_tir"):
            return True
        code = getattr(value, "__code__", None)
        return code is not None and code.co_filename == self._document.path

    def _value(self, expression: str, namespace: Dict[str, Any]) -> Any:
        code = compile(expression.strip(), "<{}>".format(expression), "eval", dont_inherit=True)
        try:
            value = execution.value_of(code, namespace)
        except Exception:
            # A wrapper that compiles a kernel and then runs it has compiled the kernel.
            captured = compilations.take_captured()
            if not captured:
                raise
            return captured
        return (
            value
            if is_kernel(value)
            else compilations.take_captured() or with_first_configuration(value)
        )

    def _local(self, request: KernelRequest, expression: str) -> Tuple[Any, Optional[Call]]:
        """A kernel in a function, by execution of its definition and what that depends on.

        The call is that of a factory for which `expression` gives no arguments.
        """
        value, name, namespace, inner = local_definitions.define(self._loaded, request, expression)
        if inner:
            return self._value(inner, namespace), None
        if is_kernel(value) or not (callable(value) or hasattr(value, "specialize")):
            return value, None
        return self._call_with_assumed(value, name, namespace, request)

    def _call_with_assumed(
        self, value: Any, name: str, namespace: Dict[str, Any], request: KernelRequest
    ) -> Tuple[Any, Call]:
        calls = assumed_calls.calls(self._document, value, name, request)
        found, error = self._first(calls, namespace)
        if found is not None:
            self._loaded.record_of_builds.choose(found.call.text)
            return found.value, found.call
        missing = assumed_calls.required_names(self._document, value, request)
        if missing:
            reason = describe(error) if error else "no kernel came of it"
            raise ArgumentsError(missing, reason) from error
        raise error or NoKernelError("{} is not a kernel".format(name))

    def _span(self, request: KernelRequest, function_name: Optional[str]) -> Span:
        """The span of the `def` of one function of several, else that of the request."""
        if function_name is not None and function_name != request.prim_func:
            path = self._document.definitions_along(request.name, request.span.line)
            found = self._document.definitions(path[-1] if path else self._document.tree)
            if function_name in found:
                return self._document.span_of(found[function_name])
        return request.span


def _with_arguments(candidate: CallCandidate, call: Call) -> CallCandidate:
    """`candidate` with `call` of the factory that it yields, and with what is assumed of both."""
    source = call.source
    if source != "assumed" and candidate.source != "defaults":
        source = candidate.source
    return replace(
        candidate,
        expression=call.text,
        source=source,
        assumed={**candidate.assumed, **call.assumed},
        model=candidate.model or call.model,
    )


def _forget_results() -> None:
    """Forget what calls before have compiled, tuned and defined."""
    compilations.take_captured()
    compilations.take_configurations()
    defined_values.forget()


def _prepare_for(call: Call) -> Call:
    """`call`, whose results are those of no call before."""
    _forget_results()
    return call


def _with_name(found: List[Named], request: KernelRequest) -> List[Named]:
    """Those of `found` that have the name of the requested definition; all if it has none."""
    if request.prim_func is None:
        return found
    return [
        (name, function)
        for name, function in found
        if request.prim_func in (name, symbol(function))
    ]


def _is_builder(function: str) -> bool:
    """Whether a function may be called for its kernel: it is no test and no program."""
    return not _PROGRAM.match(function.rpartition(".")[2])
