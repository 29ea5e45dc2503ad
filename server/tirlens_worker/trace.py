"""From a kernel that the text names to its IR functions: try the calls that might yield it."""

from __future__ import annotations

import ast
import inspect
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import assume, load, patches
from .document import Document, describe
from .facts import Span
from .protocol import CallCandidate, KernelRequest, NeedsArguments, Problem

# Assuming arguments is a search; it may not eat the time of the file's other kernels.
_ASSUME_LIMIT_S = 6.0


@dataclass(frozen=True)
class Traced:
    """An IR function and the call that yields it."""

    function: Any
    span: Span
    call: str
    call_source: str


@dataclass(frozen=True)
class Failure:
    candidate: CallCandidate
    error: BaseException


@dataclass(frozen=True)
class Outcome:
    traced: Tuple[Traced, ...] = ()
    problems: Tuple[Problem, ...] = ()
    needs: Optional[NeedsArguments] = None


class NoKernelError(Exception):
    """A call gave something that is not a kernel."""


class ArgumentsError(Exception):
    """No values were found for the parameters `names`."""

    def __init__(self, names: Tuple[str, ...], reason: str) -> None:
        super().__init__(reason)
        self.names = names


class Tracer:
    """Traces the kernels of one loaded document."""

    def __init__(self, loaded: load.Loaded) -> None:
        self._loaded = loaded
        self._document: Document = loaded.document
        self._hints: Optional[Mapping[str, assume.Texts]] = None

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
                problems.append(self._required_problem(request, candidate, error))
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
        functions = _functions(value)
        chosen = _choose(functions, request)
        if not chosen:
            raise NoKernelError(
                "{} gives {} and not a kernel".format(candidate.expression, _kind(value))
            )
        return tuple(
            Traced(function, self._span(request, name), candidate.expression, candidate.source)
            for name, function in chosen
        )

    def _value(self, expression: str, namespace: Dict[str, Any]) -> Any:
        code = compile(expression.strip(), "<{}>".format(expression), "eval", dont_inherit=True)
        try:
            value = eval(code, namespace)
        except Exception:
            # A wrapper that compiles a kernel and then runs it has shown us the kernel.
            functions = patches.captured()
            if not functions:
                raise
            return functions
        return value if _is_kernel(value) else patches.captured() or value

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
        if _is_kernel(value) or not (callable(value) or hasattr(value, "specialize")):
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
                if _is_kernel(found):
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
        deadline = time.monotonic() + _ASSUME_LIMIT_S
        missing: Tuple[str, ...] = ()
        for call, source in calls:
            if call in tried:
                continue
            if time.monotonic() > deadline:
                break
            candidate = CallCandidate(call, source)
            try:
                return Outcome(self._evaluate(request, candidate))
            except BaseException as error:
                failures.append(Failure(candidate, error))
        if request.local_to:
            missing = self._local_parameters(request)
        else:
            missing = tuple(p.name for p in self._parameters(value, request) if not p.optional)
        return self._failed(request, failures, missing)

    def _calls(self, value: Any, name: str, request: KernelRequest) -> Iterator[Tuple[str, str]]:
        """Calls of `value` with assumed arguments, and the word for where these come from."""
        parameters = self._parameters(value, request)
        method = ".specialize" if hasattr(value, "specialize") else ""
        plain = "autotune" if hasattr(value, "jit_impl") else "defaults"
        for values in assume.attempts(parameters, self._file_hints(), request.bindings):
            # A parameter that autotuning sets is no assumption of ours.
            source = "assumed" if values else plain
            yield _call_text(name + method, parameters, values), source

    def _local_calls(self, request: KernelRequest) -> Iterator[Tuple[str, str]]:
        parameters = [assume.Parameter(name) for name in self._local_parameters(request)]
        for values in assume.attempts(parameters, self._file_hints(), request.bindings):
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
        """The parameters of a factory or eager kernel that have no value of their own."""
        if hasattr(value, "specialize") and hasattr(value, "constexpr_names"):
            given = set(value.constexpr_defaults)
            return [assume.Parameter(n) for n in sorted(value.constexpr_names) if n not in given]
        tuned = _tuned_names(value)
        implementation = getattr(value, "jit_impl", value)
        tensors = set(getattr(getattr(implementation, "func", None), "tensor_args", None) or ())
        signature = getattr(implementation, "signature", None)
        if signature is None:
            try:
                signature = inspect.signature(value)
            except (TypeError, ValueError):
                return []
        out = []
        for index, parameter in enumerate(signature.parameters.values()):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.name in tensors or parameter.name in tuned:
                continue
            optional = parameter.default is None
            if parameter.default is parameter.empty or optional:
                annotation = parameter.annotation
                hint = None if annotation is parameter.empty else annotation
                position = None if parameter.kind is parameter.KEYWORD_ONLY else index
                out.append(assume.Parameter(parameter.name, hint, optional, position))
            elif parameter.name in request.bindings:
                out.append(assume.Parameter(parameter.name, None, True))
        if request.style == "eager":
            path = self._path(request.name)
            known = set(signature.parameters)
            names = assume.constants_of(path[-1]) if path else ()
            out += [assume.Parameter(name) for name in names if name not in known]
        return out

    def _lookup(self, dotted: str) -> Any:
        first, *rest = dotted.split(".")
        if first not in self._loaded.namespace:
            raise NameError("name '{}' is not defined".format(first))
        value = self._loaded.namespace[first]
        for part in rest:
            value = getattr(value, part)
        return value

    def _file_hints(self) -> Mapping[str, assume.Texts]:
        if self._hints is None:
            self._hints = assume.file_hints(self._document.tree, self._document.text)
        return self._hints

    def _span(self, request: KernelRequest, function_name: Optional[str]) -> Span:
        """The `def` of one function of a module; the request's own for all else."""
        if request.prim_func is None and function_name is not None:
            path = self._path(request.name)
            found = self._document.definitions(path[-1] if path else self._document.tree)
            if function_name in found:
                return self._document.span_of(found[function_name])
        return request.span

    def _required_problem(
        self, request: KernelRequest, candidate: CallCandidate, error: BaseException
    ) -> Problem:
        root = self._root_problem(request, error)
        if root is not None:
            return root
        problem = self._document.problem(
            "memory" if isinstance(error, MemoryError) else "trace", error, request.name
        )
        inside = problem.span is not None and problem.kind != "directive"
        if isinstance(error, (NoKernelError, SyntaxError)) or not inside:
            return Problem(
                kind="directive",
                message="{}: {}".format(candidate.expression, describe(error)),
                span=candidate.span or request.span,
                kernel=request.name,
                detail=problem.detail,
            )
        return problem

    def _failed(
        self, request: KernelRequest, failures: Sequence[Failure], missing: Tuple[str, ...]
    ) -> Outcome:
        if not failures:
            return Outcome(needs=NeedsArguments(request.name, missing, request.span))
        for failure in failures:
            root = self._root_problem(request, failure.error)
            if root is not None:
                return Outcome(problems=(root,))
            if isinstance(failure.error, ArgumentsError):
                reason = str(failure.error)
                names = failure.error.names
                return Outcome(needs=NeedsArguments(request.name, names, request.span, reason))
            if isinstance(failure.error, NameError) and _missing_name(failure.error) in missing:
                reason = describe(failure.error)
                return Outcome(needs=NeedsArguments(request.name, missing, request.span, reason))
        given = [item for item in failures if item.candidate.source != "assumed"]
        first = (given or list(failures))[0]
        if missing and not given:
            reason = "{}: {}".format(first.candidate.expression, describe(first.error))
            return Outcome(needs=NeedsArguments(request.name, missing, request.span, reason))
        kind = "memory" if isinstance(first.error, MemoryError) else "trace"
        problem = self._document.problem(kind, first.error, request.name, at=request.span)
        return Outcome(problems=(problem,))

    def _root_problem(self, request: KernelRequest, error: BaseException) -> Optional[Problem]:
        """The statement that failed while the module was executed, if that is behind `error`."""
        if not isinstance(error, NameError):
            return None
        name = _missing_name(error)
        cause = self._loaded.why_missing(name)
        if cause is None:
            return None
        own = name == request.name.split(".")[0]
        message = cause.message if own else "'{}' is missing: {}".format(name, cause.message)
        return Problem(cause.kind, message, cause.span, request.name, cause.detail)


def _missing_name(error: NameError) -> str:
    return getattr(error, "name", None) or str(error).partition("'")[2].partition("'")[0]


def _is_kernel(value: Any) -> bool:
    return bool(_functions(value))


def _functions(value: Any) -> List[Tuple[Optional[str], Any]]:
    """The IR functions in `value`, each with its name if it stands in a module."""
    name = type(value).__name__
    if name == "PrimFunc":
        return [(None, value)]
    if name == "IRModule":
        return [
            (variable.name_hint, function)
            for variable, function in value.functions.items()
            if type(function).__name__ == "PrimFunc"
        ]
    if isinstance(value, patches.CapturedKernel):
        return _functions(value.prim_func)
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _functions(part)]
    if isinstance(value, dict):
        return [item for part in value.values() for item in _functions(part)]
    return []


def _choose(
    functions: List[Tuple[Optional[str], Any]], request: KernelRequest
) -> List[Tuple[Optional[str], Any]]:
    """Of several functions the one that the request names, of like ones the first."""
    if request.prim_func is not None and len(functions) > 1:
        named = [item for item in functions if item[0] == request.prim_func]
        named = named or [item for item in functions if _symbol(item[1]) == request.prim_func]
        if named:
            return named[:1]
    return functions


def _symbol(function: Any) -> Optional[str]:
    attributes = getattr(function, "attrs", None)
    if attributes is not None and "global_symbol" in attributes:
        return str(attributes["global_symbol"])
    return getattr(function, "__name__", None)


def _tuned_names(value: Any) -> Sequence[str]:
    configs = getattr(value, "configs", None)
    if configs is None or not hasattr(value, "jit_impl"):
        return ()
    if callable(configs):
        # What a function of the arguments gives is not known before there are arguments.
        signature = value.jit_impl.signature
        return [n for n, p in signature.parameters.items() if p.default is None]
    return list(patches.first_configuration(configs))


def _call_text(name: str, parameters: Sequence[assume.Parameter], values: Mapping[str, str]) -> str:
    """``matmul(4096, 4096, 4096, block_M=128)``: sizes by position, the rest by name."""
    words = []
    positional = not name.endswith(".specialize")
    for parameter in parameters:
        if parameter.name not in values:
            continue
        text = values[parameter.name]
        positional = positional and parameter.position == len(words) < 3 and text.isdigit()
        words.append(text if positional else "{}={}".format(parameter.name, text))
    return "{}({})".format(name, ", ".join(words))


def _kind(value: Any) -> str:
    return "nothing" if value is None else "a {}".format(type(value).__name__)
