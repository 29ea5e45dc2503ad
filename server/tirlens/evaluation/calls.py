"""Attributes of values, and calls of functions, classes and the goals."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from tirlens.evaluation import data_files, devices, library, library_functions, tensors
from tirlens.evaluation.control_flow import BreakError, ContinueError, RaisedError, ReturnError
from tirlens.evaluation.data_files import FilePath, FileText
from tirlens.evaluation.kernel_results import results
from tirlens.evaluation.machine import MAX_CALL_DEPTH, MAX_DEPTH, Machine
from tirlens.evaluation.tensor_shapes import Tensor
from tirlens.evaluation.values import (
    MAX_ITEMS,
    UNKNOWN,
    AutogradApply,
    Class,
    EnumMember,
    External,
    FieldFactory,
    Frame,
    Function,
    Goal,
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
    is_plain,
    size_of,
)
from tirlens.syntax_trees import parameter_defaults

_MAX_RECURSION = 3
# Methods of a jitted function that take the kernel's own arguments.
_SAME_ARGUMENTS = ("compile", "get_tir", "get_kernel_source", "__call__")


def attribute(machine: Machine, base: Value, name: str) -> Value:
    """The attribute `name` of a value."""
    if isinstance(base, ModuleScope):
        return machine.module_value(base, name)
    if isinstance(base, External):
        return library_functions.external_attribute(base, name)
    if name == "__dict__" and isinstance(base, (Class, Instance)):
        return base.names if isinstance(base, Class) else base.attributes
    if isinstance(base, Instance):
        return _instance_attribute(machine, base, base.of.lineage(), name)
    if isinstance(base, Super):
        lineage = base.instance.of.lineage() if isinstance(base.instance, Instance) else []
        after = lineage[lineage.index(base.of) + 1 :] if base.of in lineage else []
        return class_attribute(machine, after, name, base.instance)
    if isinstance(base, Class) and name in ("__name__", "__qualname__"):
        return base.node.name
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
        return library.Method(base, name) if found is None else found
    if isinstance(base, FilePath) and (found := data_files.attribute(base, name)) is not UNKNOWN:
        return found
    if isinstance(base, (str, list, dict, tuple, set, Parser, GoalCall, FilePath, FileText)):
        return library.Method(base, name)
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
    if library_functions.path_of(function) in ("builtins.str", "builtins.repr") and positional:
        method = class_method(machine, positional[0], "__str__")
        if method is not None:
            return machine.call(method, [], {})
    if isinstance(function, library.Method) and isinstance(function.owner, (FilePath, FileText)):
        return data_files.method(machine.data_files, function.owner, function.name, positional)
    if isinstance(function, External) and devices.asks_for_gpu(function.path):
        return devices.answer(function.path, machine.gpu())
    if isinstance(function, External):
        folder = "" if machine.site is None else machine.site.path.rpartition("/")[0]
        read = data_files.call(machine.data_files, function.path, positional, folder)
        if read is not None:
            return read
    if isinstance(function, (External, library.Method, library_functions.Parametrize)):
        value = library.call(function, positional, named)
        if isinstance(value, LibraryResult):
            _call_arguments(machine, positional, named)
        if value is not library.NOT_KNOWN:
            return value
    _call_arguments(machine, positional, named)
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

    They get the tensors that follow them.
    """
    values = [*positional, *named.values()]
    for place, value in enumerate(values):
        if isinstance(value, (Function, Partial)) and machine.call_depth < MAX_CALL_DEPTH:
            tensors_after = [item for item in positional[place + 1 :] if isinstance(item, Tensor)]
            machine.run(
                lambda value=value, given=tensors_after: machine.call(value, given or UNKNOWN, {})
            )


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


def call_function(
    machine: Machine, function: Function, positional: list[Value], named: dict[str, Value]
) -> Value:
    goal = machine.goals.get(function.node)
    if goal is not None:
        call = _record(machine, goal, function, positional, named)
        if not goal.is_executed:
            return call
    if function.is_kernel:
        return results(machine, function)
    if machine.depth > MAX_DEPTH or machine.call_depth > MAX_CALL_DEPTH:
        return UNKNOWN
    if function.is_cached and not positional and not named:
        if function.cached is UNKNOWN:
            function.cached = _execute(machine, function, [], {})
        return function.cached
    made = _execute(machine, function, positional, named)
    if function.outputs and isinstance(made, Function) and made.is_kernel:
        return replace(made, outputs=function.outputs)
    return made


def _execute(
    machine: Machine, function: Function, positional: list[Value], named: dict[str, Value]
) -> Value:
    node = function.node
    frame = Frame(function.frame.module, {}, function.frame)
    if function.is_bound:
        positional = [function.self_, *positional]
    if function.owner is not None:
        frame.names["__class__"] = function.owner
        frame.names["__self__"] = positional[0] if positional else UNKNOWN
    frame.arguments = _arguments(machine, node, positional, named, function.frame)
    frame.names.update(frame.arguments)
    if isinstance(node, ast.Lambda):
        return machine.value(node.body, frame)
    if machine.running[node] >= _MAX_RECURSION and not all(
        is_plain(item) for item in (*positional, *named.values())
    ):
        # Its end depends on what is not known.
        return UNKNOWN
    machine.call_depth += 1
    machine.running[node] += 1
    machine.executed.add(node)
    site = machine.site
    try:
        machine.block(node.body, frame)
    except ReturnError as end:
        return end.value if not frame.yields else frame.yields
    except (BreakError, ContinueError):
        return UNKNOWN
    except RaisedError:
        if isinstance(frame.possible_return, Unknown):
            raise
        return frame.possible_return
    finally:
        machine.call_depth -= 1
        machine.running[node] -= 1
        machine.site = site
    return frame.yields or None


def _arguments(
    machine: Machine,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    positional: list[Value],
    named: dict[str, Value],
    frame: Frame,
) -> dict[str, Value]:
    """The values of the parameters; those without an argument or default are unknown."""
    spec = node.args
    places = [item.arg for item in (*spec.posonlyargs, *spec.args)]
    names = [*places, *(item.arg for item in spec.kwonlyargs)]
    defaults = parameter_defaults(cast("ast.FunctionDef", node))
    out: dict[str, Value] = dict(zip(places, positional, strict=False))
    out.update({name: value for name, value in named.items() if name in names})
    for name in names:
        if name not in out:
            out[name] = machine.value(defaults[name], frame) if name in defaults else UNKNOWN
    if spec.vararg is not None:
        out[spec.vararg.arg] = tuple(positional[len(places) :])
    if spec.kwarg is not None:
        out[spec.kwarg.arg] = {k: v for k, v in named.items() if k not in names}
    return out


def _record(
    machine: Machine,
    goal: Goal,
    function: Function,
    positional: list[Value],
    named: dict[str, Value],
) -> GoalCall:
    node = function.node
    parameters = [item.arg for item in (*node.args.posonlyargs, *node.args.args)]
    is_method = function.is_bound and parameters[:1] in (["self"], ["cls"])
    places = parameters[1:] if is_method else parameters
    bound = [function.self_, *positional] if is_method else positional
    given = _arguments(machine, node, bound, named, function.frame)
    if is_method:
        del given[parameters[0]]
    passed = {*places[: len(positional)], *named}
    missing = frozenset(name for name, value in given.items() if not _is_complete(value))
    known = {name: value for name, value in given.items() if name not in missing}
    call = GoalCall(
        goal,
        node,
        arguments={name: value for name, value in known.items() if name in passed},
        missing=missing,
        defaults={name: value for name, value in known.items() if name not in passed},
        positional=positional,
        named=named,
        site=machine.site,
    )
    call.self_ = function.self_ if is_method else None
    call.method = function.method
    call.around = _arguments_around(function.frame)
    call.root = machine.root
    call.made = functools.cache(lambda: _kernel_of(machine, function, positional, named))
    machine.calls.append(call)
    return call


def _arguments_around(frame: Frame | None) -> dict[str, Value]:
    """The arguments of the functions around a definition; those of an inner one go before."""
    found: dict[str, Value] = {}
    while frame is not None:
        found = {**frame.arguments, **found}
        frame = frame.parent
    return {name: value for name, value in found.items() if name not in ("self", "cls")}


def _kernel_of(
    machine: Machine, function: Function, positional: list[Value], named: dict[str, Value]
) -> Value:
    """The kernel that a factory returns; UNKNOWN for another factory."""
    made: list[Value] = []
    machine.run(lambda: made.append(_execute(machine, function, positional, named)))
    kernel = made[0] if made else UNKNOWN
    if not isinstance(kernel, Function) or not kernel.is_kernel:
        return UNKNOWN
    return replace(kernel, outputs=function.outputs)


def _is_complete(value: Value) -> bool:
    """Whether the text gives all of an argument, and it is no larger than one is written."""
    return size_of(value, MAX_ITEMS) <= MAX_ITEMS and _has_no_unknown(value)


def _has_no_unknown(value: Value) -> bool:
    if isinstance(value, (list, tuple, set)):
        return all(_has_no_unknown(item) for item in cast("Iterable[Value]", value))
    if isinstance(value, dict):
        return all(_has_no_unknown(item) for item in cast("dict[Value, Value]", value).values())
    if isinstance(value, LibraryResult):
        return _has_no_unknown(value.positional) and _has_no_unknown(value.named)
    return not isinstance(value, Unknown)


def _fields(node: ast.ClassDef) -> list[str]:
    return [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
