"""What all parts of the evaluation share: the goals, the limits, and the way to each other."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tirlens.evaluation.control_flow import ENDS, LimitError
from tirlens.evaluation.devices import Gpu
from tirlens.evaluation.modules import Modules
from tirlens.evaluation.syntax import words_of
from tirlens.evaluation.unknown_sizes import Condition
from tirlens.evaluation.values import (
    KINDS,
    UNKNOWN,
    CallSite,
    External,
    Frame,
    Function,
    Goal,
    GoalCall,
    ModuleScope,
    Value,
    truth,
)

MAX_CALL_DEPTH = 40
MAX_DEPTH = 400
_MAX_NAMESAKES, _MAX_NEIGHBOURS, _MAX_OF_A_NUMBER = 4, 8, 16
_MAX_STATEMENTS_OF_A_NAME = 16
_HOOK = "__getattr__"
# An import, or the value of a name in a lambda.
_STEPS_FOR_TEXT, _WORK_FOR_TEXT = 100, 10_000


class Machine:
    """The state of one evaluation.

    Parameters
    ----------
    modules
        The modules of the repository.
    goals
        The functions whose calls are recorded, by their definitions.
    steps
        The number of statements and calls to execute.
    limit
        The work to do, as `Modules.work` counts it.

    Attributes
    ----------
    calls : list of GoalCall
        The calls of the goals so far.
    defined : dict of Function
        The functions that have been defined, by their nodes.
    executed : set of ast.AST
        The functions that have been executed.
    left_out : list of statements
        The branches that were not taken.
    open_names : frozenset of str
        A branch that calls one of these names is executed, whatever its condition.
    replaced : frozenset of str
        The functions of these names are not called: the test that is executed replaces them.
    conditions : list of Condition
        What the program has tested of numbers that are not known.
    root : str
        The kind of the program that is executed, one of `KINDS`.
    data_files : DataFiles
        Reads the files that the code reads.
    execute, value, attribute, call : callable
        Execute a statement, and evaluate an expression, an attribute, a call.
    """

    execute: Callable[[ast.stmt, Frame], None]
    value: Callable[[ast.expr, Frame], Value]
    attribute: Callable[[Value, str], Value]
    call: Callable[[Value, Any, dict[str, Value]], Value]

    def __init__(
        self, modules: Modules, goals: Mapping[ast.AST, Goal], steps: int, limit: float
    ) -> None:
        self.goals = goals
        self.calls: list[GoalCall] = []
        self.depth: int = 0
        self.call_depth = 0
        # How often each function is being executed.
        self.running: Counter[ast.AST] = Counter()
        self.try_depth: int = 0
        self.executed: set[ast.AST] = set()
        self.defined: dict[ast.AST, Function] = {}
        self.left_out: list[Sequence[ast.stmt]] = []
        self.open_names: frozenset[str] = frozenset()
        self.replaced: frozenset[str] = frozenset()
        self.conditions: list[Condition] = []
        self.site: CallSite | None = None
        self.root = KINDS[0]
        self.data_files = modules.data_files
        self._modules = modules
        self._steps = steps
        self._end: float = modules.work + limit

    @property
    def steps_left(self) -> int:
        """The number of statements and calls that may still be executed."""
        return self._steps

    @property
    def work_left(self) -> float:
        """The work that may still be done, as `Modules.work` counts it."""
        return self._end - self._modules.work

    def calls_open_name(self, body: Iterable[ast.stmt]) -> bool:
        """Whether statements call one of the `open_names`."""
        if not self.open_names:
            return False
        nodes = (node for item in body for node in ast.walk(item))
        return any(
            isinstance(node, ast.Call) and not self.open_names.isdisjoint(words_of(node.func))
            for node in nodes
        )

    def begin(self, root: str) -> None:
        """Begin to execute a program of the kind `root`, one of `KINDS`."""
        self.root, self.site = root, None
        self.conditions.clear()

    def step(self) -> None:
        """Count a step.

        Raises:
            LimitError: there were as many, or they did as much work, as they may.
        """
        self._modules.beat()
        self._steps -= 1
        if self._steps < 0 or self._modules.work > self._end:
            raise LimitError

    def block(self, body: Iterable[ast.stmt], frame: Frame) -> None:
        """Execute statements in `frame`."""
        for statement in body:
            self.execute(statement, frame)

    def run(self, work: Callable[[], object]) -> None:
        """Execute `work`; an error of the evaluated code ends it."""
        depths = self.depth, self.call_depth, self.try_depth
        try:
            work()
        except (*ENDS, RecursionError):
            self.depth, self.call_depth, self.try_depth = depths

    def run_within(self, limit: float, work: Callable[[], object]) -> None:
        """Execute `work` until it has done as much as `limit`.

        Raises:
            LimitError: nothing more may be executed.
        """
        end, depths = self._end, (self.depth, self.call_depth, self.try_depth)
        self._end = min(end, self._modules.work + limit)
        try:
            self.run(work)
        except LimitError:
            if self._steps < 0 or self._modules.work > end:
                raise
            self.depth, self.call_depth, self.try_depth = depths
        finally:
            self._end = end

    def value_for_text(self, work: Callable[[], Value]) -> Value:
        """A value that the text of a call needs, also where no more of the program is executed.

        UNKNOWN where it takes more than a few steps beyond the limits.
        """
        with contextlib.suppress(LimitError):
            return work()
        steps, end = self._steps, self._end
        self._steps, self._end = _STEPS_FOR_TEXT, self._modules.work + _WORK_FOR_TEXT
        try:
            return work()
        except LimitError:
            return UNKNOWN
        finally:
            self._steps, self._end = steps, end

    def gpu(self) -> Gpu:
        """The GPU of the machine that the program runs on, for a program that asks for it."""
        self._modules.gpu_was_asked_for = True
        return self._modules.gpu

    def module_at(self, path: str) -> ModuleScope | None:
        """The module of a file, relative to the repository; None if there is none."""
        return self._modules.scope(path)

    def companions(self, path: str) -> Iterator[ModuleScope]:
        """The modules of files that have the name of a file, then of those of its folder."""
        namesakes = self._modules.namesakes(path)[:_MAX_NAMESAKES]
        for other in (*namesakes, *self._modules.neighbours(path)[:_MAX_NEIGHBOURS]):
            scope = self._modules.scope(other)
            if scope is not None:
                yield scope

    def modules_of_number(self, path: str) -> Iterator[ModuleScope]:
        """The modules of the files whose paths have the problem's number of a file."""
        for other in itertools.islice(self._modules.of_number(path), _MAX_OF_A_NUMBER):
            scope = self._modules.scope(other)
            if scope is not None:
                yield scope

    def module_value(self, scope: ModuleScope, name: str) -> Value:
        """The value of a module's name, from the statements that bind or change it."""
        names = scope.frame.names
        if name in names:
            return names[name]
        statements = scope.bindings.get(name)
        if statements is None or name in scope.pending:
            return self._star_value(scope, name)
        scope.pending.add(name)
        try:
            for statement in statements[:_MAX_STATEMENTS_OF_A_NAME]:
                try:
                    if self._may_be_executed(scope, statement):
                        self.execute(statement, scope.frame)
                except ENDS:
                    continue
        finally:
            scope.pending.discard(name)
        return names.setdefault(name, UNKNOWN)

    def _may_be_executed(self, scope: ModuleScope, statement: ast.stmt) -> bool:
        """Whether no condition around a top-level statement is known not to hold."""
        conditions = scope.conditions.get(statement, ())
        return all(
            truth(self.value(test, scope.frame)) in (None, required)
            for test, required in conditions
        )

    def _star_value(self, scope: ModuleScope, name: str) -> Value:
        for statement in scope.bindings.get("*", ()):
            assert isinstance(statement, ast.ImportFrom)
            module = self.import_module(scope, statement.module or "", statement.level)
            if isinstance(module, ModuleScope) and (key := f"*{name}") not in scope.pending:
                scope.pending.add(key)
                try:
                    value = self.module_value(module, name)
                finally:
                    scope.pending.discard(key)
                if value is not UNKNOWN:
                    return value
        path = f"{scope.path.rpartition('/')[0]}/{name}" if scope.is_package else ""
        for candidate in (f"{path}.py", f"{path}/__init__.py") if path else ():
            inner = self._modules.scope(candidate.lstrip("/"))
            if inner is not None:
                return inner
        return self._value_by_hook(scope, name)

    def _value_by_hook(self, scope: ModuleScope, name: str) -> Value:
        """What the function ``__getattr__`` of a module gives for a name that it does not bind."""
        key = f"{_HOOK} {name}"
        if _HOOK not in scope.bindings or name == _HOOK or key in scope.pending:
            return UNKNOWN
        scope.pending.add(key)
        try:
            return self.call(self.module_value(scope, _HOOK), [name], {})
        except ENDS:
            return UNKNOWN
        finally:
            scope.pending.discard(key)

    def import_module(self, scope: ModuleScope, name: str, level: int = 0) -> Value:
        """The module that `scope` imports as `name`: of the repository, or a library's name."""
        path = self._modules.resolve(scope, name, level)
        module = self._modules.scope(path) if path is not None else None
        return module if module is not None else External(name)

    def call_method(self, base: Value, name: str, *given: Value) -> Value:
        """Call a method of a value, which gives itself where a context is entered."""
        method = self.attribute(base, name)
        if method is UNKNOWN and name == "__enter__":
            return base
        return self.call(method, list(given), {})
