"""Evaluation of a repository's code, as far as its text gives the values.

The evaluator executes statements as Python does. A value that the text does not give is `UNKNOWN`:
a branch on it is taken both ways, a loop over it once. Code of libraries is not executed
(`libraries` knows what some of it returns). Calls of the goals, the kernels of a file, are
recorded.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from typing import Any

from tirlens.evaluation import calls
from tirlens.evaluation.constraints import fact
from tirlens.evaluation.control_flow import ENDS, LimitError
from tirlens.evaluation.expressions import VALUE
from tirlens.evaluation.machine import MAX_DEPTH, Machine
from tirlens.evaluation.modules import Modules
from tirlens.evaluation.statements import EXECUTE
from tirlens.evaluation.values import (
    UNKNOWN,
    Frame,
    Goal,
    LibraryResult,
    ModuleScope,
    Unknown,
    Value,
)

_STEPS = 200_000


class Evaluator(Machine):
    """Executes code of the modules and records the calls of some functions; see `Machine`."""

    def __init__(self, modules: Modules, goals: Mapping[ast.AST, Goal], limit: float) -> None:
        super().__init__(modules, goals, _STEPS, limit)
        self.execute = self._execute
        self.value = self._value
        self.attribute = self._attribute
        self.call = self._call

    def run_module(self, scope: ModuleScope) -> None:
        """Execute a module as a program: its statements, and those of the main guard."""
        for statement in scope.tree.body:
            self.run(lambda statement=statement: self.execute(statement, scope.frame))

    def try_value(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression; UNKNOWN where no more may be evaluated."""
        found: list[Value] = []
        with contextlib.suppress(LimitError):
            self.run(lambda: found.append(self.value(node, frame)))
        return found[0] if found else UNKNOWN

    def _execute(self, node: ast.stmt, frame: Frame) -> None:
        self.step()
        execute = EXECUTE.get(type(node))
        if execute is not None:
            execute(self, node, frame)

    def _value(self, node: ast.expr, frame: Frame) -> Value:
        evaluate = VALUE.get(type(node))
        if evaluate is None or self.depth > MAX_DEPTH:
            return UNKNOWN
        self.depth += 1
        self._modules.work += 1
        try:
            value = evaluate(self, node, frame)
            if frame.facts and isinstance(value, Unknown) and not isinstance(value, LibraryResult):
                known = fact(frame, node)
                return value if isinstance(known, Unknown) else known
            return value
        except (LimitError, *ENDS, RecursionError):
            raise
        except Exception:
            # What the code would raise, a value that is too large, a file that cannot be read.
            return UNKNOWN
        finally:
            self.depth -= 1

    def _attribute(self, base: Value, name: str) -> Value:
        return calls.attribute(self, base, name)

    def _call(self, function: Value, given: Any, named: dict[str, Value]) -> Value:
        return calls.call(self, function, given, named)
