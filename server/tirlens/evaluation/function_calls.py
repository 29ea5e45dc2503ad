"""Calls of functions of the text, and the record of those of the goals."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tirlens.evaluation.control_flow import BreakError, ContinueError, RaisedError, ReturnError
from tirlens.evaluation.kernel_results import results
from tirlens.evaluation.machine import MAX_CALL_DEPTH, MAX_DEPTH, Machine
from tirlens.evaluation.unknown_sizes import UnknownArgument, relations
from tirlens.evaluation.values import (
    MAX_ITEMS,
    UNKNOWN,
    Frame,
    Function,
    Goal,
    GoalCall,
    LibraryResult,
    Unknown,
    Value,
    is_plain,
    size_of,
)
from tirlens.syntax_trees import parameter_defaults

if TYPE_CHECKING:
    from tirlens.syntax_trees import FunctionNode

_MAX_RECURSION = 3


def call_function(
    machine: Machine, function: Function, positional: list[Value], named: dict[str, Value]
) -> Value:
    """The result of a call of a function of the text; the call itself if it is one of a goal.

    It is `UNKNOWN` where a test replaces the function, or calls are nested too deep.
    """
    if function.name in machine.replaced:
        return UNKNOWN
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
            given = name in defaults
            out[name] = machine.value(defaults[name], frame) if given else UnknownArgument()
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
    # `compile(M=4096)` gives sizes of arrays in the place of these.
    in_place = {name: value for name, value in named.items() if name not in given}
    if in_place:
        absent = set(given) - passed - set(parameter_defaults(cast("FunctionNode", node)))
        given = {name: value for name, value in given.items() if name not in absent} | in_place
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
    if missing:
        call.relations = tuple(relations(given, machine.conditions))
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
