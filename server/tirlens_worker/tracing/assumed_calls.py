"""The parameters of a factory or eager kernel, and calls of it with assumed arguments, as text."""

from __future__ import annotations

import ast
import inspect
import os
from dataclasses import replace
from typing import (
    Any,
    Collection,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from ..facts import ModelSizes
from ..program import execution, fake_gpu
from ..program.compilations import first_configuration
from ..program.document import Definition, Document
from ..protocol import CallCandidate, KernelRequest
from . import asserted_values, assumed_values, listed_values
from .array_arguments import array_class, is_array, new_arrays
from .model_attempts import attempts_with_models


class Call(NamedTuple):
    """A call as text, the origin of its arguments, and the arguments that are assumed.

    `source` is as in `KernelFacts.call_source`; `assumed` has expressions by parameter name;
    `model` are those arguments that a language model gives, `is_consistent` is as in `Attempt`.
    """

    text: str
    source: str
    assumed: Mapping[str, str]
    model: Optional[ModelSizes] = None
    is_consistent: bool = False

    def candidate(self) -> CallCandidate:
        """The call as a candidate."""
        return CallCandidate(self.text, self.source, assumed=self.assumed, model=self.model)


def calls(
    document: Document, value: Any, name: str, request: KernelRequest, divisor: int = 1
) -> Iterator[Call]:
    """Calls of `value`, named `name` in the text, with assumed arguments.

    Large sizes are divided by `divisor`.
    """
    method = ".specialize" if hasattr(value, "specialize") else ""
    plain = "autotune" if hasattr(value, "jit_impl") else "defaults"
    parameters = _parameters(document, value, request)
    owner, _, last = name.rpartition(".")
    if _is_method(document, value, request):
        names = _namespace(value)
        name = "{}.{}".format(instance(document, owner, request, names), last)
    for attempt in attempts_with_models(parameters, request, divisor):
        assumed = _assumed_arguments(attempt.values, request, attempt.model)
        values = _with_device(attempt.values)
        # A parameter that autotuning sets is not assumed.
        source = "assumed" if values else plain
        arrays = _new_arrays(document, value, request, values)
        assumed = {key: arrays.get(key, text) for key, text in assumed.items()}
        text = _call_text(name + method, parameters, dict(values, **arrays))
        yield Call(text, source, assumed, attempt.model, attempt.is_consistent)


def instance(
    document: Document, owner: str, request: KernelRequest, namespace: Mapping[str, Any]
) -> str:
    """An object of the class `owner`, as text.

    Its constructor's arguments without a default, and those whose default an assertion of the class
    refuses, are assumed. An object that cannot be constructed so is not constructed.
    """
    try:
        value: Any = execution.value_of(owner, dict(namespace))
        parameters = inspect.signature(value).parameters.values()
    except Exception:
        return "{}()".format(owner)
    path = document.definitions_along(owner, request.span.line)
    demands = asserted_values.demands_of(path[-1]) if path else {}
    names = [parameter.name for parameter in parameters]
    words: List[str] = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        name, default = parameter.name, parameter.default
        if default is not parameter.empty:
            text = asserted_values.demanded_text(demands.get(name, []), default)
        else:
            demanded = [demand.text for demand in demands.get(name, [])]
            hint = None if parameter.annotation is parameter.empty else parameter.annotation
            assumed = assumed_values.Parameter(name, hint)
            found = (*demanded, *request.hints.get(name, ()))
            text = (found or assumed_values.plausible_values(assumed, names))[0]
        if text is not None:
            words.append("{}={}".format(name, text))
    text = "{}({})".format(owner, ", ".join(words))
    try:
        if words:
            execution.value_of(text, dict(namespace))
    except Exception:
        return "{0}.__new__({0})".format(owner)
    return text


def takes_self(definition: Optional[Definition]) -> bool:
    """Whether a function is called on an object."""
    arguments = definition.args.args if isinstance(definition, ast.FunctionDef) else []
    return bool(arguments) and arguments[0].arg == "self"


def calls_around(
    document: Document,
    request: KernelRequest,
    namespace: Mapping[str, Any],
    divisor: int = 1,
) -> Iterator[Call]:
    """Calls of the function in which a local kernel is defined, with assumed arguments.

    `namespace` has the names of the function's module. Large sizes are divided by `divisor`.
    """
    path = document.definitions_along(request.local_to or "", request.span.line)
    choices = listed_values.choices_of(path[-1]) if path else {}
    lengths = listed_values.lengths_of(path[-1]) if path else {}
    parameters = [
        assumed_values.Parameter(
            name,
            written_type(path[-1], name),
            choices=choices.get(name, ()),
            length=lengths.get(name, 0),
        )
        for name in required_around(document, request)
    ]
    for attempt in attempts_with_models(parameters, request, divisor):
        arrays = _arrays_around(path[-1] if path else None, attempt.values, namespace)
        values = dict(attempt.values, **arrays)
        assumed = _assumed_arguments(values, request, attempt.model)
        values = _with_device(values)
        words = ", ".join("{}={}".format(name, text) for name, text in values.items())
        source = "assumed" if values else "module-level"
        text = "{}({})".format(request.local_to, words)
        yield Call(text, source, assumed, attempt.model, attempt.is_consistent)


def _assumed_arguments(
    values: Mapping[str, str], request: KernelRequest, model: Optional[ModelSizes]
) -> Dict[str, str]:
    """The values that neither the user nor the device gives, nor a model that the user chose."""
    chosen: Collection[str] = model.values if model is not None and model.is_chosen else ()
    return {
        name: text
        for name, text in values.items()
        if name not in request.bindings
        and name not in chosen
        and (text,) != assumed_values.SM_COUNT
    }


def _with_device(values: Mapping[str, str]) -> Dict[str, str]:
    """`values` with the number of multiprocessors of the device where it is asked for."""
    count = str(fake_gpu.current().sm_count)
    return {
        name: count if (text,) == assumed_values.SM_COUNT else text for name, text in values.items()
    }


def required_names(document: Document, value: Any, request: KernelRequest) -> Tuple[str, ...]:
    """The required parameters of a factory or eager kernel."""
    return tuple(p.name for p in _parameters(document, value, request) if not p.optional)


def required_around(document: Document, request: KernelRequest) -> Tuple[str, ...]:
    """The parameters of the function in which a local kernel is defined."""
    path = document.definitions_along(request.local_to or "", request.span.line)
    if not path or not isinstance(path[-1], ast.FunctionDef):
        return ()
    arguments = path[-1].args
    names = [argument.arg for argument in arguments.args + arguments.kwonlyargs]
    return tuple(name for name in names if name not in ("self", "cls"))


def written_type(definition: Optional[ast.AST], name: str) -> Optional[str]:
    """The annotation of the parameter `name` in `definition`; None if it is no dotted name."""
    arguments = getattr(definition, "args", ast.arguments([], [], None, [], [], None, []))
    for argument in arguments.args + arguments.kwonlyargs:
        if argument.arg == name:
            words: List[str] = []
            node = argument.annotation
            while isinstance(node, ast.Attribute):
                words.insert(0, node.attr)
                node = node.value
            return ".".join([node.id, *words]) if isinstance(node, ast.Name) else None
    return None


def _parameters(
    document: Document, value: Any, request: KernelRequest
) -> List[assumed_values.Parameter]:
    file = os.path.basename(document.path)
    found = _without_value(value, request, _definition(document, value, request), file)
    if not _is_method(document, value, request):
        return found
    return [
        replace(parameter, position=None if parameter.position is None else parameter.position - 1)
        for parameter in found
        if parameter.name != "self"
    ]


def _definition(document: Document, value: Any, request: KernelRequest) -> Optional[Definition]:
    line = request.span.line
    path = document.definitions_along(request.name, line)
    function = getattr(getattr(value, "jit_impl", value), "func", value)
    name = getattr(getattr(function, "orig_func", function), "__name__", None)
    dotted = "{}.{}".format(request.name, name)
    inner = document.definitions_along(dotted, line) if path and name else []
    return (inner or path or [None])[-1]


def _new_arrays(
    document: Document, value: Any, request: KernelRequest, values: Mapping[str, str]
) -> Mapping[str, str]:
    """New arrays for the parameters in `values` that are annotated as arrays."""
    definition = _definition(document, value, request)
    if not isinstance(definition, ast.FunctionDef):
        return {}
    hints: Mapping[str, Any] = getattr(value, "__annotations__", {})
    namespace = getattr(value, "__globals__", {})
    kinds = {name: written_type(definition, name) for name in values if is_array(hints.get(name))}
    for name in listed_values.arrays_of(definition) & set(values) - set(hints):
        kinds[name] = array_class(namespace)
    arrays = {name: kind for name, kind in kinds.items() if kind}
    others = {name: text for name, text in values.items() if name not in arrays}
    return new_arrays(definition, arrays, others, namespace) if arrays else {}


def _arrays_around(
    definition: Optional[Definition], values: Mapping[str, str], namespace: Mapping[str, Any]
) -> Mapping[str, str]:
    """New arrays for the parameters in `values` that `definition` uses as relax's arrays."""
    if not isinstance(definition, ast.FunctionDef):
        return {}
    own = array_class(namespace)
    if own is None:
        return {}
    written = {name: written_type(definition, name) for name in values}
    read = listed_values.arrays_of(definition)
    arrays = {
        name: own
        for name, kind in written.items()
        if kind == own or (kind is None and name in read)
    }
    others = {name: text for name, text in values.items() if name not in arrays}
    return new_arrays(definition, arrays, others, namespace) if arrays else {}


def _is_method(document: Document, value: Any, request: KernelRequest) -> bool:
    return "." in request.name and takes_self(_definition(document, value, request))


def _without_value(
    value: Any, request: KernelRequest, definition: Optional[Definition], file: str
) -> List[assumed_values.Parameter]:
    """The parameters of a factory or eager kernel without a default.

    `definition` is its syntax tree, None if that was not found.
    """
    if hasattr(value, "specialize") and hasattr(value, "constexpr_names"):
        given = set(value.constexpr_defaults)
        return [
            assumed_values.Parameter(n) for n in sorted(value.constexpr_names) if n not in given
        ]
    tuned = _tuned_names(value)
    implementation = getattr(value, "jit_impl", value)
    tensors: Sequence[str] = getattr(getattr(implementation, "func", None), "tensor_args", ())
    signature = getattr(implementation, "signature", None)
    if signature is None:
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):
            return []
    signature = _wrapped_signature(signature, definition)
    out: List[assumed_values.Parameter] = []
    tree = definition or ast.Pass()
    flags = listed_values.flags_of(tree)
    choices = listed_values.choices_of(tree, _namespace(value))
    codes = listed_values.codes_of(tree)
    objects = listed_values.dtype_objects_of(tree)
    language = _language(_namespace(value)) if objects else None
    lengths = listed_values.lengths_of(tree)
    demands = asserted_values.demands_of(tree)
    required = asserted_values.required_of(tree)
    context = "{} {}".format(request.name, file)
    # One whose parameters are all None is called by a tuner, which gives them values.
    is_tuned = all(parameter.default is None for parameter in signature.parameters.values())
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in (tensors or ()) or parameter.name in tuned:
            continue
        optional = parameter.default is None and not is_tuned
        optional = optional and parameter.name not in required
        if parameter.default is parameter.empty or parameter.default is None:
            annotation = parameter.annotation
            if getattr(annotation, "__name__", "") in ("Target", "dtype", "BlockBuilder"):
                annotation = written_type(definition, parameter.name) or annotation
            hint = "flag" if parameter.name in flags else None
            if parameter.name in objects and language is not None:
                hint = language + ".dtype"
            hint = hint if annotation is parameter.empty else annotation
            position = None if parameter.kind is parameter.KEYWORD_ONLY else index
            name = parameter.name
            listed, numbers = choices.get(name, ()), codes.get(name, ())
            length = 0 if is_array(annotation) else lengths.get(name, 0)
            out.append(
                assumed_values.Parameter(
                    name, hint, optional, position, listed, numbers, context, length
                )
            )
        elif parameter.name in request.bindings:
            out.append(assumed_values.Parameter(parameter.name, None, True))
        elif parameter.name in demands:
            text = asserted_values.demanded_text(demands[parameter.name], parameter.default)
            if text is not None:
                out.append(assumed_values.Parameter(parameter.name, choices=(text,)))
    if hasattr(implementation, "get_tir") and definition is not None:
        known = set(signature.parameters)
        names = listed_values.constants_of(definition)
        out += [assumed_values.Parameter(name) for name in names if name not in known]
    return out


def _namespace(value: Any) -> Mapping[str, Any]:
    """The names of the module of a factory or eager kernel."""
    function = inspect.unwrap(getattr(getattr(value, "jit_impl", value), "func", value))
    function = getattr(function, "orig_func", function)
    return getattr(function, "__globals__", {})


def _language(namespace: Mapping[str, Any]) -> Optional[str]:
    """The name under which a module knows tilelang's language."""
    names = (
        name
        for name, value in namespace.items()
        if getattr(value, "__name__", "") == "tilelang.language" and inspect.ismodule(value)
    )
    return next(names, None)


def _wrapped_signature(
    signature: inspect.Signature, definition: Optional[Definition]
) -> inspect.Signature:
    """The signature of a definition whose wrapper takes ``*args`` and ``**kwargs``."""
    passed_on = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if not isinstance(definition, ast.FunctionDef) or not kinds or set(kinds) - set(passed_on):
        return signature
    arguments = definition.args
    required = len(arguments.args) - len(arguments.defaults)
    parameters = [
        _parameter(definition, argument, default, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for argument, default in zip(arguments.args, [None] * required + arguments.defaults)
    ] + [
        _parameter(definition, argument, default, inspect.Parameter.KEYWORD_ONLY)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    return inspect.Signature(parameters)


def _parameter(
    definition: Definition, argument: ast.arg, default: Optional[ast.expr], kind: Any
) -> inspect.Parameter:
    """A parameter of the source; its default is a syntax tree, or empty."""
    empty = inspect.Parameter.empty
    hint = written_type(definition, argument.arg) or empty
    if isinstance(default, ast.Constant) and default.value is None:
        return inspect.Parameter(argument.arg, kind, default=None, annotation=hint)
    given = empty if default is None else default
    return inspect.Parameter(argument.arg, kind, default=given, annotation=hint)


def _call_text(
    name: str, parameters: Sequence[assumed_values.Parameter], values: Mapping[str, str]
) -> str:
    """``matmul(4096, 4096, 4096, block_M=128)``: sizes by position, the rest by name."""
    words: List[str] = []
    positional = not name.endswith(".specialize")
    for parameter in parameters:
        if parameter.name not in values:
            continue
        text = values[parameter.name]
        positional = positional and parameter.position == len(words) < 3 and text.isdigit()
        words.append(text if positional else "{}={}".format(parameter.name, text))
    return "{}({})".format(name, ", ".join(words))


def _tuned_names(value: Any) -> Sequence[str]:
    configs = getattr(value, "configs", None)
    if configs is None or not hasattr(value, "jit_impl"):
        return ()
    if callable(configs):
        # The result of a function of the arguments is not known.
        signature = value.jit_impl.signature
        return [n for n, p in signature.parameters.items() if p.default is None]
    return list(first_configuration(configs))
