"""The call of a module's model on its inputs, in the form of KernelBench.

``ModelNew(*get_init_inputs())(*get_inputs())``: https://github.com/ScalingIntelligence/KernelBench

A problem and its solution may be two files: the solution has the model, the problem the inputs.
They have the same name in two folders, or in one folder the same but for words such as
``reference`` and ``solution``, or their paths the same number of a problem, or they are alone in
their folder.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from pathlib import PurePosixPath

from tirlens.evaluation.evaluator import Evaluator
from tirlens.evaluation.problem_numbers import problem_number
from tirlens.evaluation.values import Class, Function, ModuleScope, Value

_INPUTS, _INITIAL_INPUTS = "get_inputs", "get_init_inputs"
_SOLUTION, _PROBLEM = "ModelNew", "Model"
# Words of the names of files that say which of both a file is.
_ROLES = frozenset(
    ["ref", "reference", "problem", "torch", "pytorch", "base", "baseline", "original", "orig",
     "solution", "sol", "new", "tilelang", "tl", "kernel", "opt", "optimized", "generated"]
)  # fmt: skip


def run_model(evaluator: Evaluator, scope: ModuleScope) -> None:
    """Call the model of a module on the inputs that it defines, or the file of its problem."""
    owner = scope if _INPUTS in scope.bindings else _problem_of(evaluator, scope)
    inputs = evaluator.module_value(owner, _INPUTS) if owner is not None else None
    if owner is None or not isinstance(inputs, Function):
        return
    initial = evaluator.module_value(owner, _INITIAL_INPUTS)
    given = evaluator.call(initial, [], {}) if isinstance(initial, Function) else []
    for name in (_SOLUTION, _PROBLEM):
        model = evaluator.module_value(scope, name)
        if isinstance(model, Class):
            positional, named = _arguments(given)
            instance = evaluator.call(model, positional, named)
            evaluator.call(instance, *_arguments(evaluator.call(inputs, [], {})))
            return


def _problem_of(evaluator: Evaluator, scope: ModuleScope) -> ModuleScope | None:
    """The module with the inputs of a solution; None if there is none, or one of several."""
    if _SOLUTION not in scope.bindings:
        return None
    found = [other for other in evaluator.companions(scope.path) if _INPUTS in other.bindings]
    words = _words(scope.path)
    namesake = next((one for one in found if _words(one.path) == words), None)
    alone = found[0] if len(found) == 1 else None
    if alone is not None and problem_number(alone.path) != problem_number(scope.path):
        alone = None
    return namesake or _problem_by_number(evaluator, scope) or alone


def _problem_by_number(evaluator: Evaluator, scope: ModuleScope) -> ModuleScope | None:
    """The module with the model and the inputs of the problem whose number a path has."""
    return next(
        (
            other
            for other in evaluator.modules_of_number(scope.path)
            if _INPUTS in other.bindings and _PROBLEM in other.bindings
        ),
        None,
    )


def _words(path: str) -> list[str]:
    """The words of a file's name without those that say its role, if others are left."""
    words = PurePosixPath(path).stem.lower().split("_")
    return [word for word in words if word not in _ROLES] or words[:1]


def _arguments(given: Value) -> tuple[list[Value], dict[str, Value]]:
    """Inputs as the arguments of a call: a list of them, or a dict by name."""
    if isinstance(given, dict):
        return [], {str(name): value for name, value in given.items()}
    return (list(given), {}) if isinstance(given, (list, tuple)) else ([], {})
