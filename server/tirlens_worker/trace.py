"""From a kernel that the text names to its IR functions: try the calls that might yield it."""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from . import assume, load, other_versions, patches
from .document import Document, describe
from .facts import Span
from .failures import ArgumentsError, Failure, explain, required_problem
from .kernels import NoKernelError, choose, functions, is_kernel, kind
from .parameters import call_text, parameters_of
from .protocol import CallCandidate, KernelRequest, NeedsArguments, Problem

# Assuming arguments is a search; it may not eat the time of the file's other kernels.  Processor
# time: a busy machine should find what an idle one does.
_ASSUME_LIMIT_S = 6.0
# Arguments that make a kernel which cannot be meant are many where its sizes are its own.
_MOST_DOUBTFUL = 6


@dataclass(frozen=True)
class Traced:
    """An IR function and the call that yields it."""

    function: Any
    span: Span
    call: str
    call_source: str


@dataclass(frozen=True)
class Outcome:
    traced: Tuple[Traced, ...] = ()
    problems: Tuple[Problem, ...] = ()
    needs: Optional[NeedsArguments] = None


class Tracer:
    """Traces the kernels of one loaded document."""

    def __init__(self, loaded: load.Loaded) -> None:
        self._loaded = loaded
        self._document: Document = loaded.document

    def trace(self, request: KernelRequest) -> Outcome:
        """All required candidates of `request`, else the first that yields a kernel."""
        candidates = list(request.candidates)
        if request.style in ("prim_func", "ir_module") and not candidates:
            candidates.append(CallCandidate(request.local_to or request.name, "module-level"))
        traced: List[Traced] = []
        problems: List[Problem] = []
        for candidate in [item for item in candidates if item.required]:
            try:
                traced += self._evaluate(request, candidate)
            except BaseException as error:
                problems.append(required_problem(self._loaded, request, candidate, error))
        if traced or problems:
            return Outcome(tuple(traced), tuple(problems))
        failures: List[Failure] = []
        for candidate in candidates:
            try:
                return Outcome(self._evaluate(request, candidate))
            except BaseException as error:
                failures.append(Failure(candidate, error))
        if request.allow_assumed and request.style not in ("prim_func", "ir_module"):
            return self._assume(request, failures)
        if request.allow_assumed and request.local_to:
            return self._assume(request, failures)
        return self._failed(request, failures, ())

    def _evaluate(self, request: KernelRequest, candidate: CallCandidate) -> Tuple[Traced, ...]:
        """The functions that `candidate` yields.

        Raises:
            BaseException: whatever the user's code raises.
        """
        patches.captured()
        if request.local_to is not None:
            value = self._local(request, candidate.expression)
        else:
            value = self._value(candidate.expression, self._loaded.namespace)
        chosen = choose(functions(value), request)
        if not chosen and self._is_called_again(value):
            return self._evaluate(request, self._called(value, candidate, request))
        if not chosen:
            raise NoKernelError(
                "{} gives {} and not a kernel".format(candidate.expression, kind(value))
            )
        return tuple(
            Traced(function, self._span(request, name), candidate.expression, candidate.source)
            for name, function in chosen
        )

    def _called(
        self, value: Any, candidate: CallCandidate, request: KernelRequest
    ) -> CallCandidate:
        """The call of what `candidate` gives, another factory: ``build(2)(4096)``."""
        error: Optional[BaseException] = None
        for call, source in self._calls(value, candidate.expression, request):
            try:
                if is_kernel(self._value(call, self._loaded.namespace)):
                    kept = source == "assumed" or candidate.source == "defaults"
                    return replace(
                        candidate, expression=call, source=source if kept else candidate.source
                    )
            except Exception as raised:
                error = error or raised
        raise error or NoKernelError("{} gives no kernel".format(candidate.expression))

    def _is_called_again(self, value: Any) -> bool:
        """Whether a factory gave another one: a jitted function, or one of the text."""
        if hasattr(getattr(value, "jit_impl", value), "get_tir"):
            return True
        code = getattr(value, "__code__", None)
        return code is not None and code.co_filename == self._document.path

    def _value(self, expression: str, namespace: Dict[str, Any]) -> Any:
        code = compile(expression.strip(), "<{}>".format(expression), "eval", dont_inherit=True)
        try:
            value = eval(code, namespace)
        except Exception:
            # A wrapper that compiles a kernel and then runs it has shown us the kernel.
            captured = patches.captured()
            if not captured:
                raise
            return captured
        return value if is_kernel(value) else patches.captured() or value

    def _local(self, request: KernelRequest, expression: str) -> Any:
        """A kernel inside a function, got by executing what it depends on and its definition."""
        namespace = dict(self._loaded.namespace)
        call = ast.parse(expression.strip(), mode="eval").body
        for keyword in getattr(call, "keywords", ()):
            code = compile(ast.Expression(keyword.value), "<{}>".format(expression), "eval")
            namespace[keyword.arg] = eval(code, namespace)
        for span in request.prelude:
            statement = self._document.statement_at(span)
            if statement is not None:
                load.execute(self._loaded, statement, namespace)
        definition = request.definition and self._document.statement_at(request.definition)
        if not isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
            raise NoKernelError("the definition of {} was not found".format(request.name))
        value = self._define_in_place(request.local_to or "", definition, namespace)
        namespace[definition.name] = value
        if is_kernel(value) or not (callable(value) or hasattr(value, "specialize")):
            return value
        return self._call_with_assumed(value, definition.name, namespace, request)

    def _define_in_place(self, local_to: str, definition: Any, namespace: Dict[str, Any]) -> Any:
        """Execute `definition` within empty shells of the functions and classes around it.

        It so gets its true qualified name, by which TVM's parser looks for its source.
        """
        statement, reach = definition, definition.name
        for node in reversed(self._path(local_to)):
            is_function = isinstance(node, ast.FunctionDef)
            form = "def x():\n return {}" if is_function else "class x:\n {}"
            shell: Any = ast.parse(form.format(reach)).body[0]
            for part in ast.walk(shell):
                ast.copy_location(part, definition)
            shell.name = node.name
            shell.body[: 0 if is_function else 1] = [statement]
            statement = shell
            reach = node.name + "()" if is_function else "{}.{}".format(node.name, reach)
        place: Dict[str, Any] = {}
        load.execute(self._loaded, statement, namespace, place)
        return eval(reach, namespace, place)

    def _call_with_assumed(
        self, value: Any, name: str, namespace: Dict[str, Any], request: KernelRequest
    ) -> Any:
        error: Optional[BaseException] = None
        for call, _ in self._calls(value, name, request):
            try:
                found = self._value(call, namespace)
                if is_kernel(found):
                    return found
            except Exception as raised:
                error = error or raised
        missing = tuple(p.name for p in self._parameters(value, request) if not p.optional)
        if missing:
            reason = describe(error) if error else "no kernel came of it"
            raise ArgumentsError(missing, reason) from error
        raise error or NoKernelError("{} is not a kernel".format(name))

    def _assume(self, request: KernelRequest, failures: List[Failure]) -> Outcome:
        try:
            value = None if request.local_to else self._lookup(request.name)
        except Exception as error:
            failures.append(Failure(CallCandidate(request.name, "module-level"), error))
            return self._failed(request, failures, ())
        tried = {failure.candidate.expression for failure in failures}
        calls = (
            self._local_calls(request)
            if request.local_to
            else self._calls(value, request.name, request)
        )
        deadline = time.process_time() + _ASSUME_LIMIT_S
        missing: Tuple[str, ...] = ()
        doubtful: List[Outcome] = []
        for call, source in calls:
            if call in tried:
                continue
            if time.process_time() > deadline or len(doubtful) == _MOST_DOUBTFUL:
                break
            candidate = CallCandidate(call, source)
            try:
                outcome = Outcome(self._evaluate(request, candidate))
                if all(self._is_plausible(item.function) for item in outcome.traced):
                    return outcome
                doubtful.append(outcome)
            except BaseException as error:
                failures.append(Failure(candidate, error))
                if other_versions.foreign_word(error):
                    break
        if doubtful:
            return doubtful[0]
        if request.local_to:
            missing = self._local_parameters(request)
        else:
            missing = tuple(p.name for p in self._parameters(value, request) if not p.optional)
        return self._failed(request, failures, missing)

    def _is_plausible(self, function: Any) -> bool:
        from .frameworks.plausible import is_plausible

        try:
            return is_plausible(function, patches.shared_bytes_per_block())
        except Exception:
            return True

    def _failed(
        self, request: KernelRequest, failures: Sequence[Failure], missing: Tuple[str, ...]
    ) -> Outcome:
        why = explain(self._loaded, request, failures, missing)
        return Outcome(problems=(why,)) if isinstance(why, Problem) else Outcome(needs=why)

    def _calls(self, value: Any, name: str, request: KernelRequest) -> Iterator[Tuple[str, str]]:
        """Calls of `value` with assumed arguments, and the word for where these come from."""
        parameters = self._parameters(value, request)
        method = ".specialize" if hasattr(value, "specialize") else ""
        plain = "autotune" if hasattr(value, "jit_impl") else "defaults"
        for values in assume.attempts(parameters, request.hints, request.bindings):
            # A parameter that autotuning sets is no assumption of ours.
            source = "assumed" if values else plain
            yield call_text(name + method, parameters, values), source

    def _local_calls(self, request: KernelRequest) -> Iterator[Tuple[str, str]]:
        parameters = [assume.Parameter(name) for name in self._local_parameters(request)]
        for values in assume.attempts(parameters, request.hints, request.bindings):
            words = ", ".join("{}={}".format(name, text) for name, text in values.items())
            yield "{}({})".format(request.local_to, words), "assumed" if values else "module-level"

    def _local_parameters(self, request: KernelRequest) -> Tuple[str, ...]:
        """The parameters of the function that keeps a kernel to itself."""
        path = self._path(request.local_to or "")
        arguments = path[-1].args if path and isinstance(path[-1], ast.FunctionDef) else None
        names = [a.arg for a in arguments.args + arguments.kwonlyargs] if arguments else []
        return tuple(name for name in names if name not in ("self", "cls"))

    def _path(self, dotted: str) -> List[Any]:
        """The definitions that a dotted name goes through, all of them or none."""
        node: ast.AST = self._document.tree
        path: List[Any] = []
        for part in dotted.split("."):
            found = next(
                (
                    item
                    for item in ast.walk(node)
                    if isinstance(item, (ast.FunctionDef, ast.ClassDef)) and item.name == part
                ),
                None,
            )
            if found is None:
                return []
            path.append(found)
            node = found
        return path

    def _parameters(self, value: Any, request: KernelRequest) -> List[assume.Parameter]:
        path = self._path(request.name)
        function = getattr(getattr(value, "jit_impl", value), "func", value)
        name = getattr(getattr(function, "orig_func", function), "__name__", None)
        inner = self._path("{}.{}".format(request.name, name)) if path and name else []
        return parameters_of(value, request, (inner or path or [None])[-1])

    def _lookup(self, dotted: str) -> Any:
        first, *rest = dotted.split(".")
        if first not in self._loaded.namespace:
            raise NameError("name '{}' is not defined".format(first))
        value = self._loaded.namespace[first]
        for part in rest:
            value = getattr(value, part)
        return value

    def _span(self, request: KernelRequest, function_name: Optional[str]) -> Span:
        """The `def` of one function of a module; the request's own for all else."""
        if request.prim_func is None and function_name is not None:
            path = self._path(request.name)
            found = self._document.definitions(path[-1] if path else self._document.tree)
            if function_name in found:
                return self._document.span_of(found[function_name])
        return request.span
