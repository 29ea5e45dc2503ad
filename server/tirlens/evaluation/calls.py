"""Attributes of values, and calls of functions, classes and libraries."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from tirlens.evaluation import (
    data_files,
    devices,
    names_by_text,
    unknown_sizes,
    unknown_views,
)
from tirlens.evaluation.data_files import FilePath, FileText
from tirlens.evaluation.function_calls import call_function
from tirlens.evaluation.libraries import dispatch, names, pytest_functions
from tirlens.evaluation.libraries.names import path_of
from tirlens.evaluation.libraries.torch import tensors
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.machine import MAX_CALL_DEPTH, Machine
from tirlens.evaluation.unknown_sizes import UnknownArgument
from tirlens.evaluation.values import (
    UNKNOWN,
    AutogradApply,
    Class,
    EnumMember,
    External,
    FieldFactory,
    Function,
    GoalCall,
    Instance,
    LibraryResult,
    ModuleScope,
    Options,
    Parser,
    Partial,
    SaveTensors,
    Super,
    Unknown,
    Value,
)

# Methods of a jitted function that take the kernel's own arguments.
_SAME_ARGUMENTS = ("compile", "get_tir", "get_kernel_source", "__call__")

# Of what ``torch.topk``, ``x.max(dim)`` and ``x.sort()`` return.
_OF_PAIRS = ("values", "indices")


def attribute(machine: Machine, base: Value, name: str) -> Value:
    """The attribute `name` of a value."""
    if isinstance(base, ModuleScope):
        return machine.module_value(base, name)
    if isinstance(base, External):
        return names.attribute_of(base, name)
    if isinstance(base, (Class, Function)) and name in ("__name__", "__qualname__"):
        return base.node.name if isinstance(base, Class) else base.name
    if name == "__dict__" and isinstance(base, (Class, Instance)):
        return base.names if isinstance(base, Class) else base.attributes
    if isinstance(base, Instance):
        return _instance_attribute(machine, base, base.of.lineage(), name)
    if isinstance(base, Super):
        lineage = base.instance.of.lineage() if isinstance(base.instance, Instance) else []
        after = lineage[lineage.index(base.of) + 1 :] if base.of in lineage else []
        return class_attribute(machine, after, name, base.instance)
    if isinstance(base, Class):
        return class_attribute(machine, base.lineage(), name, base)
    if isinstance(base, Options):
        return base.values.get(name, UNKNOWN)
    if isinstance(base, EnumMember):
        if name in ("name", "value"):
            return getattr(base, name)
        return class_attribute(machine, base.of.lineage(), name, base)
    if isinstance(base, Function) and name in _SAME_ARGUMENTS:
        return base
    if isinstance(base, Function) and name == "specialize":
        return replace(base, method=name)
    if isinstance(base, Tensor):
        found = tensors.attribute(base, name)
        return dispatch.Method(base, name) if found is None else found
    if name in _OF_PAIRS and isinstance(base, tuple):
        pair = [item for item in base if isinstance(item, Tensor)]
        return pair[_OF_PAIRS.index(name)] if len(pair) == len(base) == 2 else UNKNOWN
    if isinstance(base, FilePath) and (found := data_files.attribute(base, name)) is not UNKNOWN:
        return found
    if isinstance(base, UnknownArgument):
        return unknown_sizes.attribute(base, name)
    if isinstance(base, (str, list, dict, tuple, set, Parser, GoalCall, FilePath, FileText)):
        return dispatch.Method(base, name)
    return UNKNOWN


def _instance_attribute(machine: Machine, base: Instance, lineage: list[Class], name: str) -> Value:
    if name in base.attributes:
        return base.attributes[name]
    if name in ("save_for_backward", "saved_tensors"):
        return SaveTensors(base) if name == "save_for_backward" else UNKNOWN
    return class_attribute(machine, lineage, name, base)


def class_attribute(machine: Machine, lineage: list[Class], name: str, owner: Value) -> Value:
    for item in lineage:
        if name not in item.names:
            continue
        found = item.names[name]
        if not isinstance(found, Function):
            return found
        if found.is_property and isinstance(owner, (Instance, EnumMember)):
            return call_function(machine, found, [owner], {})
        if found.is_static or (isinstance(owner, Class) and not found.is_class_method):
            return found
        is_object = isinstance(owner, (Instance, EnumMember))
        self_ = owner.of if found.is_class_method and is_object else owner
        return Function(found.node, found.frame, found.name, item, self_, True)
    if isinstance(owner, Class) and name == "apply" and lineage:
        return AutogradApply(owner)
    return UNKNOWN


def class_method(machine: Machine, value: Value, name: str) -> Function | None:
    """The method of a value of a class of the repository; None if it has none."""
    if not isinstance(value, (Instance, EnumMember)):
        return None
    found = class_attribute(machine, value.of.lineage(), name, value)
    return found if isinstance(found, Function) else None


def call(machine: Machine, function: Value, given: Any, named: dict[str, Value]) -> Value:
    """The value of a call; the calls of functions that are arguments are executed, too."""
    machine.step()
    positional: list[Value] = [] if given is UNKNOWN else list(given)
    if isinstance(function, Partial):
        both = {**function.named, **named}
        return machine.call(function.function, [*function.positional, *positional], both)
    if isinstance(function, Function):
        return call_function(machine, function, positional, named)
    if isinstance(function, Class):
        return _instantiate(machine, function, positional, named)
    if isinstance(function, Instance):
        for name in ("__call__", "forward"):
            method = machine.attribute(function, name)
            if method is not UNKNOWN:
                return machine.call(method, positional, named)
        return UNKNOWN
    if isinstance(function, SaveTensors):
        function.context.attributes["saved_tensors"] = tuple(positional)
        return None
    if isinstance(function, AutogradApply):
        return _call_autograd(machine, function.of, positional)
    if isinstance(function, GoalCall):
        if function.inner is None:
            function.inner = (positional, named)
        kernel = function.made()
        return machine.call(kernel, positional, named) if isinstance(kernel, Function) else UNKNOWN
    if path_of(function) in ("builtins.str", "builtins.repr") and positional:
        method = class_method(machine, positional[0], "__str__")
        if method is not None:
            return machine.call(method, [], {})
    if isinstance(function, dispatch.Method) and isinstance(function.owner, (FilePath, FileText)):
        return data_files.method(machine.data_files, function.owner, function.name, positional)
    if isinstance(function, External) and devices.asks_for_gpu(function.path):
        return devices.answer(function.path, machine.gpu())
    if isinstance(function, External):
        found = names_by_text.call(machine, function.path, positional, named)
        if found is not None:
            return found
        folder = "" if machine.site is None else machine.site.path.rpartition("/")[0]
        read = data_files.call(machine.data_files, function.path, positional, folder)
        if read is not None:
            return read
    if isinstance(function, (External, dispatch.Method, pytest_functions.Parametrize)):
        value = dispatch.call(function, positional, named)
        if isinstance(value, LibraryResult):
            _call_arguments(machine, positional, named)
        if value is not dispatch.NOT_KNOWN:
            return value
    _call_arguments(machine, positional, named)
    if isinstance(function, UnknownArgument):
        return unknown_views.call(function, positional)
    return UNKNOWN


def _call_autograd(machine: Machine, of: Class, positional: list[Value]) -> Value:
    """A call of a `torch.autograd.Function`: its forward, and its backward for the gradient."""
    context = Instance(of)
    forward = class_attribute(machine, of.lineage(), "forward", of)
    backward = class_attribute(machine, of.lineage(), "backward", of)
    made = machine.call(forward, [context, *positional], {})
    if isinstance(backward, Function):
        gradients = list(made) if isinstance(made, tuple) else [made]
        machine.run(lambda: machine.call(backward, [context, *gradients], {}))
    return made


def _call_arguments(machine: Machine, positional: list[Value], named: dict[str, Value]) -> None:
    """Call the functions that are given to code that is not known, as ``do_bench`` does.

    They get the tensors that follow them, and the first of the configurations that are given with
    them, as by ``AutoTuner.from_kernel(build, configs)``.
    """
    values = [*positional, *named.values()]
    for position, value in enumerate(values):
        if isinstance(value, (Function, Partial)) and machine.call_depth < MAX_CALL_DEPTH:
            tensors_after = [
                item for item in positional[position + 1 :] if isinstance(item, Tensor)
            ]
            chosen = _first_configuration(value, values)
            machine.run(
                lambda value=value, given=tensors_after, chosen=chosen: machine.call(
                    value, given or UNKNOWN, chosen
                )
            )


def _first_configuration(value: Function | Partial, given: list[Value]) -> dict[str, Value]:
    """The first of a list of arguments by name that `value` takes; none if there is no list."""
    function: Value = value
    while isinstance(function, Partial):
        function = function.function
    if not isinstance(function, Function):
        return {}
    arguments = function.node.args
    names = {item.arg for item in (*arguments.args, *arguments.kwonlyargs)}
    for items in given:
        first = items[0] if isinstance(items, (list, tuple)) and items else None
        if isinstance(first, dict) and first and names.issuperset(first):
            return dict(first)
    return {}


def _instantiate(
    machine: Machine, made: Class, positional: list[Value], named: dict[str, Value]
) -> Value:
    if made.is_enum:
        members = [item for item in made.names.values() if isinstance(item, EnumMember)]
        wanted = positional[0] if positional else UNKNOWN
        return next((item for item in members if wanted in (item, item.value)), UNKNOWN)
    metaclass = next((k.metaclass for k in made.lineage() if isinstance(k.metaclass, Class)), None)
    if metaclass is not None:
        caller = class_attribute(machine, metaclass.lineage(), "__call__", metaclass)
        if isinstance(caller, Function) and machine.call_depth < MAX_CALL_DEPTH:
            result = machine.call(caller, [made, *positional], named)
            if not isinstance(result, Unknown):
                return result
    creator = class_attribute(machine, made.lineage(), "__new__", made)
    if isinstance(creator, Function):
        created = machine.call(creator, [made, *positional], named)
        if not isinstance(created, (Unknown, Instance)):
            return created
    instance = Instance(made, arguments=(tuple(positional), named))
    initializer = class_attribute(machine, made.lineage(), "__init__", instance)
    if isinstance(initializer, Function):
        machine.call(initializer, positional, named)
        return instance
    if any(item.is_dataclass for item in made.lineage()):
        fields = [name for item in reversed(made.lineage()) for name in _fields(item.node)]
        fields = list(dict.fromkeys(fields))
        for name in fields:
            instance.attributes[name] = class_attribute(machine, made.lineage(), name, made)
        instance.attributes.update(zip(fields, positional, strict=False))
        instance.attributes.update(named)
        for name, value in instance.attributes.items():
            if isinstance(value, FieldFactory):
                instance.attributes[name] = machine.call(value.factory, [], {})
        machine.call_method(instance, "__post_init__")
    return instance


def _fields(node: ast.ClassDef) -> list[str]:
    return [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
