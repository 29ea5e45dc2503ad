"""The parameters of a factory or eager kernel, and calls of it with assumed arguments, as text."""

from __future__ import annotations

import ast
import inspect
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
from ..program.document import Definition, Document
from ..protocol import CallCandidate, KernelRequest
from . import asserted_values, assumed_values, listed_values, name_meanings
from .array_arguments import array_class, is_array, new_arrays
from .consistent_values import Conditions, consistent_attempts
from .parameters import (
    defaults_of,
    definition_of,
    is_method,
    namespace_of,
    parameters_of,
    written_type,
)


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
    parameters = parameters_of(document, value, request)
    owner, _, last = name.rpartition(".")
    of_object: Mapping[str, str] = {}
    if is_method(document, value, request):
        made = instance(document, owner, request, namespace_of(value))
        name, of_object = "{}.{}".format(made.text, last), made.assumed
    conditions = Conditions(
        definition_of(document, value, request),
        namespace_of(value),
        defaults_of(value),
        request.relations,
    )
    for attempt in consistent_attempts(parameters, request, conditions, divisor):
        assumed = _assumed_arguments(attempt.values, request, attempt.model)
        values = _with_device(attempt.values)
        # A parameter that autotuning sets is not assumed.
        source = "assumed" if values or of_object else plain
        arrays = _new_arrays(document, value, request, values)
        assumed = {key: arrays.get(key, text) for key, text in assumed.items()}
        assumed = {**of_object, **assumed}
        text = _call_text(name + method, parameters, dict(values, **arrays))
        yield Call(text, source, assumed, attempt.model, attempt.is_consistent)


class NewObject(NamedTuple):
    """The construction of an object as text, and those of its arguments that are assumed."""

    text: str
    assumed: Mapping[str, str] = {}

    def method_call(self, call: CallCandidate) -> CallCandidate:
        """A call of a method of the object, whose arguments are no less assumed than the object.

        What the user writes is not assumed.
        """
        if not self.assumed or call.source == "directive":
            return call
        return replace(call, source="assumed", assumed={**self.assumed, **call.assumed})


def instance(
    document: Document, owner: str, request: KernelRequest, namespace: Mapping[str, Any]
) -> NewObject:
    """An object of the class `owner`.

    Its constructor's arguments without a default, and those whose default an assertion of the class
    refuses, are assumed. An object that cannot be constructed so is not constructed.
    """
    try:
        value: Any = execution.value_of(owner, dict(namespace))
        parameters = inspect.signature(value).parameters.values()
    except Exception:
        return NewObject("{}()".format(owner))
    path = document.definitions_along(owner, request.span.line)
    demands = asserted_values.demands_of(path[-1]) if path else {}
    integers = asserted_values.integers_of(path[-1]) if path else ()
    names = [parameter.name for parameter in parameters]
    words: List[str] = []
    guesses: Dict[str, str] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        name, default = parameter.name, parameter.default
        is_open = default is None and name in integers
        if default is not parameter.empty and not is_open:
            text = asserted_values.demanded_text(demands.get(name, []), default)
        else:
            demanded = [demand.text for demand in demands.get(name, [])]
            hint = None if parameter.annotation is parameter.empty else parameter.annotation
            hint = int if is_open else hint
            assumed = assumed_values.Parameter(name, hint)
            found = (*demanded, *request.hints.get(name, ()))
            text = (found or assumed_values.plausible_values(assumed, names))[0]
            if not demanded:
                guesses[name] = text
        if text is not None:
            words.append("{}={}".format(name, text))
    text = "{}({})".format(owner, ", ".join(words))
    try:
        if words:
            execution.value_of(text, dict(namespace))
    except Exception:
        return NewObject("{0}.__new__({0})".format(owner))
    return NewObject(text, guesses)


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
    conditions = Conditions(path[-1] if path else None, namespace, {})
    for attempt in consistent_attempts(parameters, request, conditions, divisor):
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
        if name not in request.bindings and name not in chosen and (text,) != name_meanings.SM_COUNT
    }


def _with_device(values: Mapping[str, str]) -> Dict[str, str]:
    """`values` with the number of multiprocessors of the device where it is asked for."""
    count = str(fake_gpu.current().sm_count)
    return {
        name: count if (text,) == name_meanings.SM_COUNT else text for name, text in values.items()
    }


def required_names(document: Document, value: Any, request: KernelRequest) -> Tuple[str, ...]:
    """The required parameters of a factory or eager kernel."""
    return tuple(p.name for p in parameters_of(document, value, request) if not p.optional)


def required_around(document: Document, request: KernelRequest) -> Tuple[str, ...]:
    """The parameters of the function in which a local kernel is defined."""
    path = document.definitions_along(request.local_to or "", request.span.line)
    if not path or not isinstance(path[-1], ast.FunctionDef):
        return ()
    arguments = path[-1].args
    names = [argument.arg for argument in arguments.args + arguments.kwonlyargs]
    return tuple(name for name in names if name not in ("self", "cls"))


def _new_arrays(
    document: Document, value: Any, request: KernelRequest, values: Mapping[str, str]
) -> Mapping[str, str]:
    """New arrays for the parameters in `values` that are annotated as arrays."""
    definition = definition_of(document, value, request)
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
