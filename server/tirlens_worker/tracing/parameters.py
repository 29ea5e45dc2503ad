"""The parameters of a factory or eager kernel that a call must give, and what is said of each."""

from __future__ import annotations

import ast
import inspect
import os
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..program.compilations import first_configuration, without_filter
from ..program.document import Definition, Document
from ..protocol import KernelRequest
from . import asserted_values, assumed_values, listed_values
from .array_arguments import is_array


def parameters_of(
    document: Document, value: Any, request: KernelRequest
) -> List[assumed_values.Parameter]:
    """The parameters that need a value; those of a method without its object."""
    file = os.path.basename(document.path)
    found = _without_value(value, request, definition_of(document, value, request), file)
    if not is_method(document, value, request):
        return found
    return [
        replace(parameter, position=None if parameter.position is None else parameter.position - 1)
        for parameter in found
        if parameter.name != "self"
    ]


def definition_of(document: Document, value: Any, request: KernelRequest) -> Optional[Definition]:
    """The definition of a factory or eager kernel; None if it was not found."""
    line = request.span.line
    path = document.definitions_along(request.name, line)
    function = getattr(getattr(value, "jit_impl", value), "func", value)
    name = getattr(getattr(function, "orig_func", function), "__name__", None)
    dotted = "{}.{}".format(request.name, name)
    inner = document.definitions_along(dotted, line) if path and name else []
    return (inner or path or [None])[-1]


def is_method(document: Document, value: Any, request: KernelRequest) -> bool:
    """Whether a factory or eager kernel is called on an object."""
    return "." in request.name and takes_self(definition_of(document, value, request))


def takes_self(definition: Optional[Definition]) -> bool:
    """Whether a function is called on an object."""
    arguments = definition.args.args if isinstance(definition, ast.FunctionDef) else []
    return bool(arguments) and arguments[0].arg == "self"


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


def namespace_of(value: Any) -> Mapping[str, Any]:
    """The names of the module of a factory or eager kernel."""
    function = inspect.unwrap(getattr(getattr(value, "jit_impl", value), "func", value))
    function = getattr(function, "orig_func", function)
    return getattr(function, "__globals__", {})


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
    choices = listed_values.choices_of(tree, namespace_of(value))
    codes = listed_values.codes_of(tree)
    objects = listed_values.dtype_objects_of(tree)
    language = _language(namespace_of(value)) if objects else None
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


def defaults_of(value: Any) -> Dict[str, Any]:
    """The defaults of the parameters of a factory or eager kernel."""
    return {
        parameter.name: parameter.default
        for parameter in signed_parameters(value)
        if parameter.default is not parameter.empty
    }


def signed_parameters(value: Any) -> Sequence[inspect.Parameter]:
    """The parameters of a factory or eager kernel; none where they are not known."""
    signature = getattr(getattr(value, "jit_impl", value), "signature", None)
    try:
        return tuple((signature or inspect.signature(value)).parameters.values())
    except (TypeError, ValueError):
        return ()


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


def _tuned_names(value: Any) -> Sequence[str]:
    configs = without_filter(getattr(value, "configs", None))
    if configs is None or not hasattr(value, "jit_impl"):
        return ()
    if callable(configs):
        # The result of a function of the arguments is not known.
        signature = value.jit_impl.signature
        return [n for n, p in signature.parameters.items() if p.default is None]
    return list(first_configuration(configs))
