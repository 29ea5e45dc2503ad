"""Execution of statements."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from tirlens.evaluation import expressions
from tirlens.evaluation.assignment import assign
from tirlens.evaluation.calls import class_attribute
from tirlens.evaluation.constraints import suppose
from tirlens.evaluation.control_flow import (
    ENDS,
    BreakError,
    ContinueError,
    RaisedError,
    ReturnError,
)
from tirlens.evaluation.function_calls import call_function
from tirlens.evaluation.kernel_results import outputs_of
from tirlens.evaluation.libraries import kernel_libraries, pytest_functions, python_methods
from tirlens.evaluation.libraries.names import path_of
from tirlens.evaluation.machine import Machine
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    EnumMember,
    External,
    Frame,
    Function,
    Instance,
    ModuleScope,
    Partial,
    Unknown,
    Value,
    is_known,
    items_of,
    truth,
)

# What makes a class of its annotated names: decorators of the standard library and of attrs.
_MAKE_DATA_CLASSES = ("dataclass", "attr.s", "attrs.define", "attrs.frozen", "attr.define")
_MAX_ITERATIONS, _MAX_ITEMS, _MAX_LOOP_STEPS = 12, 512, 3000


def _expr(machine: Machine, node: ast.Expr, frame: Frame) -> None:
    machine.value(node.value, frame)


def _assign(machine: Machine, node: ast.Assign, frame: Frame) -> None:
    value = machine.value(node.value, frame)
    for target in node.targets:
        assign(machine, target, value, frame)


def _ann_assign(machine: Machine, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(machine, node.target, machine.value(node.value, frame), frame)


def _aug_assign(machine: Machine, node: ast.AugAssign, frame: Frame) -> None:
    old = machine.value(node.target, frame)
    new = machine.value(node.value, frame)
    if isinstance(old, list) and isinstance(new, (list, tuple)):
        python_methods.extend(cast("list[Value]", old), cast("list[Value]", new))
        return
    assign(machine, node.target, expressions.binary(machine, type(node.op), old, new), frame)


def _return(machine: Machine, node: ast.Return, frame: Frame) -> None:
    raise ReturnError(None if node.value is None else machine.value(node.value, frame))


def _assert(machine: Machine, node: ast.Assert, frame: Frame) -> None:
    known = truth(machine.value(node.test, frame))
    if known is False:
        raise RaisedError
    if known is None:
        suppose(machine, node.test, True, frame)


def _raise(machine: Machine, node: ast.Raise, frame: Frame) -> None:
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if isinstance(raised, ast.Name) and raised.id == "NotImplementedError":
        # The program has an implementation, which is made in a way that is not followed.
        raise ReturnError(UNKNOWN)
    raise RaisedError


def _break(machine: Machine, node: ast.Break, frame: Frame) -> None:
    raise BreakError


def _continue(machine: Machine, node: ast.Continue, frame: Frame) -> None:
    raise ContinueError


def _if(machine: Machine, node: ast.If, frame: Frame) -> None:
    test = machine.value(node.test, frame)
    known = truth(test)
    taken, other = (node.body, node.orelse) if known else (node.orelse, node.body)
    if known is not None and not machine.calls_open_name(other):
        machine.left_out.append(other)
        machine.block(taken, frame)
        return
    _either(machine, [node.body, node.orelse], frame)
    if isinstance(node.body[-1], ast.Raise) and not node.orelse:
        suppose(machine, node.test, False, frame)


def _either(machine: Machine, bodies: Sequence[Sequence[ast.stmt]], frame: Frame) -> None:
    """Execute each of several bodies, of which Python would execute one."""
    ends: list[Exception] = []
    for body in bodies:
        held = len(machine.conditions)
        try:
            machine.block(body, frame)
        except ENDS as end:
            ends.append(end)
        # What one body asserts does not hold where another is executed.
        del machine.conditions[held:]
    returned = [end for end in ends if isinstance(end, ReturnError)]
    if returned and isinstance(frame.possible_return, Unknown):
        frame.possible_return = returned[0].value
    if len(ends) == len(bodies):
        known = [end for end in returned if end.value is not None and is_known(end.value)]
        raise (known or returned or ends)[0]


def _for(machine: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    items = items_of(machine.value(node.iter, frame))
    iterations = [UNKNOWN] if items is None else items[:_MAX_ITEMS]
    calls_before, steps_before = len(machine.calls), machine.steps_left
    for number, item in enumerate(iterations):
        if number >= _MAX_ITERATIONS and len(machine.calls) > calls_before:
            # A sweep over many sizes: these are enough.
            break
        if number >= _MAX_ITERATIONS and steps_before - machine.steps_left > _MAX_LOOP_STEPS:
            # It fills arrays with data.
            break
        assign(machine, node.target, item, frame)
        try:
            machine.block(node.body, frame)
        except ContinueError:
            continue
        except BreakError:
            return
    machine.block(node.orelse, frame)


def _while(machine: Machine, node: ast.While, frame: Frame) -> None:
    for _ in range(_MAX_ITERATIONS):
        known = truth(machine.value(node.test, frame))
        if known is False:
            return
        try:
            machine.block(node.body, frame)
        except ContinueError:
            continue
        except BreakError:
            return
        if known is None:
            return


def _with(machine: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    for item in node.items:
        if isinstance(item.context_expr, ast.Call):
            opened = machine.value(item.context_expr.func, frame)
            if kernel_libraries.opens_kernel(path_of(opened)):
                return
        value = machine.value(item.context_expr, frame)
        if item.optional_vars is not None:
            entered = machine.call_method(value, "__enter__")
            assign(machine, item.optional_vars, entered, frame)
    machine.block(node.body, frame)


def _try(machine: Machine, node: ast.Try, frame: Frame) -> None:
    machine.try_depth += 1
    try:
        machine.block(node.body, frame)
        machine.block(node.orelse, frame)
    except RaisedError:
        if not node.handlers:
            raise
        machine.block(node.handlers[0].body, frame)
    finally:
        machine.try_depth -= 1
        machine.block(node.finalbody, frame)


def _match(machine: Machine, node: ast.Match, frame: Frame) -> None:
    _either(machine, [case.body for case in node.cases], frame)


def _import(machine: Machine, node: ast.Import, frame: Frame) -> None:
    for item in node.names:
        name = item.name if item.asname else item.name.split(".")[0]
        if _is_wanted(item.asname or name, frame):
            frame.names[item.asname or name] = machine.import_module(frame.module, name)


def _import_from(machine: Machine, node: ast.ImportFrom, frame: Frame) -> None:
    wanted = [item for item in node.names if _is_wanted(item.asname or item.name, frame)]
    if not wanted or node.names[0].name == "*":
        return
    module = machine.import_module(frame.module, node.module or "", node.level)
    for item in wanted:
        if isinstance(module, ModuleScope):
            value = machine.module_value(module, item.name)
        else:
            path = cast("External", module).path
            inner = machine.import_module(frame.module, f"{path}.{item.name}") if path else UNKNOWN
            value = inner if isinstance(inner, ModuleScope) else External(f"{path}.{item.name}")
        frame.names[item.asname or item.name] = value


def _is_wanted(name: str, frame: Frame) -> bool:
    """Whether a name is imported now; those of a module are when they are used.

    An import under the main guard, or in a `with` or a loop, is none of a module's bindings.
    """
    module = frame.module
    is_binding = frame is module.frame and name in module.bindings
    return not is_binding or name in module.pending


def _function_def(machine: Machine, node: ast.FunctionDef, frame: Frame) -> None:
    value: Value = Function(node, frame, node.name)
    machine.defined[node] = value
    for decorator in reversed(node.decorator_list):
        value = _decorate(machine, decorator, value, frame)
    frame.names[node.name] = value


def _class_def(machine: Machine, node: ast.ClassDef, frame: Frame) -> None:
    bases = tuple(machine.value(base, frame) for base in node.bases)
    keywords = {item.arg: machine.value(item.value, frame) for item in node.keywords}
    made = Class(node, frame, bases, keywords.get("metaclass", UNKNOWN))
    inside = Frame(frame.module, made.names, frame, is_class=True)
    frame.names[node.name] = made
    machine.run(lambda: machine.block(node.body, inside))
    for name, value in made.names.items():
        if isinstance(value, Function):
            value.owner = made
        elif made.is_enum and not name.startswith("_"):
            made.names[name] = EnumMember(made, name, value)
    hook = class_attribute(machine, made.lineage()[1:], "__init_subclass__", made)
    if isinstance(hook, Function):
        given = {name: value for name, value in keywords.items() if name and name != "metaclass"}
        machine.run(lambda: call_function(machine, hook, [made], given))
    for item in node.decorator_list:
        decorator = machine.value(item, frame)
        if isinstance(decorator, pytest_functions.Parametrize):
            decorator.apply_to(made)
    paths = [path_of(machine.value(_function(item), frame)) for item in node.decorator_list]
    of_bases = [base.path for base in bases if isinstance(base, External)]
    made.is_dataclass = any(path.endswith(_MAKE_DATA_CLASSES) for path in paths) or any(
        path.endswith((".NamedTuple", ".BaseModel")) for path in of_bases
    )


def _decorate(machine: Machine, node: ast.expr, function: Value, frame: Frame) -> Value:
    """`function` after its decorator, which changes nothing if it is a library's."""
    decorator = machine.value(node, frame)
    path = path_of(decorator)
    if isinstance(function, Function):
        function.is_cached |= path.removesuffix("()") in ("functools.lru_cache", "functools.cache")
        if path.startswith("tilelang.") and path.endswith((".jit", ".jit()")):
            function.outputs = outputs_of(node)
        function.is_kernel |= kernel_libraries.is_kernel_decorator(path)
        function.is_static |= path == "builtins.staticmethod"
        function.is_class_method |= path == "builtins.classmethod"
        function.is_property |= path.endswith(("builtins.property", "cached_property"))
        function.is_fixture |= path.endswith("pytest.fixture")
    if isinstance(decorator, (pytest_functions.Parametrize, pytest_functions.Fixture)):
        return decorator.apply_to(function)
    if isinstance(decorator, (Function, Class, Partial)):
        made = machine.call(decorator, [function], {})
        # A wrapper of arguments that are not known would hide the function.
        return made if isinstance(made, (Function, Partial, Instance)) else function
    return function


def _function(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


EXECUTE: dict[type[ast.stmt], Callable[[Machine, Any, Frame], Any]] = {
    ast.AnnAssign: _ann_assign,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AugAssign: _aug_assign,
    ast.Break: _break,
    ast.ClassDef: _class_def,
    ast.Continue: _continue,
    ast.Expr: _expr,
    ast.For: _for,
    ast.FunctionDef: _function_def,
    ast.If: _if,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Match: _match,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: _try,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncFor: _for,
    ast.AsyncWith: _with,
    ast.AsyncFunctionDef: _function_def,
}
