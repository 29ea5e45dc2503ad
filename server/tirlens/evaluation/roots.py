"""The programs of a module: what Python, pytest and benchmark runners execute of it.

They are the module itself with its main guard, its tests and benchmarks, its model with the inputs
that it defines. For a goal of which they call none with known arguments, they are also the branches
with its calls that are not taken, and the functions that use it, with the defaults of their
parameters.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from tirlens.evaluation.control_flow import LimitError
from tirlens.evaluation.evaluator import Evaluator
from tirlens.evaluation.libraries.names import path_of
from tirlens.evaluation.model_inputs import run_model
from tirlens.evaluation.syntax import words_of
from tirlens.evaluation.test_cases import Test, cases, run_case, tests
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    Function,
    Goal,
    Instance,
    ModuleScope,
    Value,
)
from tirlens.syntax_trees import parameter_defaults, parameters

# A program gets this part of the work that its module has left.
_PROGRAMS_OF_A_LIMIT = 2
_MAX_UNCALLED = 32
# Bases of libraries whose objects are made without arguments.
_PLAIN_BASES = frozenset(
    ("builtins.object", "abc.ABC", "torch.nn.Module", "typing.Generic", "typing.Protocol",
     "unittest.TestCase", "torch.autograd.Function")
)  # fmt: skip


def run_programs(evaluator: Evaluator, scope: ModuleScope, names: Mapping[str, int]) -> None:
    """Execute the programs of a module, until they have done as much work as they may.

    Parameters
    ----------
    evaluator
        Records the calls of its goals.
    scope
        The module.
    names
        The names on the way to the goals with their distances, 0 for those of the goals. The tests
        that use a near one come first. None takes all that the module may.
    """
    try:
        evaluator.begin("program")
        evaluator.run_module(scope)
        for test in sorted(tests(scope), key=lambda test: _distance(test, names)):
            for case in cases(evaluator, scope, test):
                evaluator.begin(_kind(test.function.name))
                _run(evaluator, lambda: run_case(evaluator, scope, test, case))  # noqa: B023
        evaluator.begin("program")
        _run(evaluator, lambda: run_model(evaluator, scope))
        evaluator.open_names = _unknown_goals(evaluator)
        if any(map(evaluator.calls_open_name, evaluator.left_out)):
            # Their calls are in branches that the defaults of the program do not take.
            evaluator.begin("code")
            names_before = dict(scope.frame.names)
            _run(evaluator, lambda: evaluator.run_module(scope))
            scope.frame.names.update(names_before)
        for function in list(_remaining_functions(evaluator, scope))[:_MAX_UNCALLED]:
            evaluator.begin("code")
            _run(evaluator, lambda: _call(evaluator, function))  # noqa: B023
    except LimitError:
        pass


def _run(evaluator: Evaluator, work: Callable[[], object]) -> None:
    evaluator.run_within(evaluator.work_left / _PROGRAMS_OF_A_LIMIT, work)


def _kind(name: str) -> str:
    """The kind of a function that a program calls by its name."""
    if name.startswith("test"):
        return "test"
    return "benchmark" if name.startswith("bench") else "program"


def _distance(test: Test, names: Mapping[str, int]) -> int:
    """The least distance to a goal among the names that a test uses."""
    used = (names[word] for word in words_of(test.function.node) if word in names)
    return min(used, default=max(names.values(), default=0) + 1)


def _remaining_functions(evaluator: Evaluator, scope: ModuleScope) -> Iterator[Function]:
    """The functions that use a goal of which no call is known.

    Of those inside another function, they are those that have not been executed.
    """
    names = _unknown_goals(evaluator)
    for function in list(evaluator.defined.values()):
        is_closure = not function.dotted_name
        if function.frame.module is not scope or function.is_kernel:
            continue
        if is_closure and function.node in evaluator.executed:
            continue
        goal = evaluator.goals.get(function.node)
        is_around = goal is not None and goal.is_executed and _name(goal) in names
        is_user = goal is None and not names.isdisjoint(words_of(function.node))
        if is_around or is_user:
            yield function


def _unknown_goals(evaluator: Evaluator) -> frozenset[str]:
    """The names of the goals of which no call is known."""
    known = {call.node for call in evaluator.calls if not call.missing}
    return frozenset(_name(goal) for node, goal in evaluator.goals.items() if node not in known)


def _name(goal: Goal) -> str:
    return goal.name.rpartition(".")[2]


def _call(evaluator: Evaluator, function: Function) -> None:
    """Call a function without arguments, a method on an object that is made without any."""
    owner = function.owner
    if owner is None or function.is_static:
        evaluator.call(function, UNKNOWN, {})
        return
    instance = evaluator.call(owner, UNKNOWN, {})
    given = instance if isinstance(instance, Instance) else Instance(owner)
    if _needs_arguments(owner):
        given.arguments = None
        for name in _open_fields(owner):
            given.attributes[name] = UNKNOWN
    evaluator.call(function, [given], {})


def _needs_arguments(owner: Class) -> bool:
    """Whether an object of a class may need arguments.

    A field or parameter has no default, or the default None, or the text does not have its base.
    """
    for item in owner.lineage():
        initializer = item.names.get("__init__")
        node = initializer.node if isinstance(initializer, Function) else None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            defaults = parameter_defaults(node)
            return any(_is_open(defaults.get(one.arg)) for one in parameters(node)[1:])
        if any(path_of(base) not in _PLAIN_BASES for base in item.bases if not _is_own(base)):
            return True
    return bool(_open_fields(owner))


def _open_fields(owner: Class) -> list[str]:
    """The fields of a data class without a default, or with the default None."""
    return [
        node.target.id
        for item in owner.lineage()
        if item.is_dataclass
        for node in item.node.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if _is_open(node.value)
    ]


def _is_own(base: Value) -> bool:
    return isinstance(base, Class)


def _is_open(default: ast.expr | None) -> bool:
    return default is None or (isinstance(default, ast.Constant) and default.value is None)
