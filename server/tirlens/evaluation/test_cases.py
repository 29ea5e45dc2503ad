"""The tests of a module, with the arguments that pytest gives them.

Arguments are those of ``pytest.mark.parametrize`` and the results of fixtures: of the test's class,
of its module, and of the ``conftest.py`` of its folders. Fixtures of pytest itself have no value,
except ``request``, of which the parameter is known.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from tirlens.evaluation.evaluator import Evaluator
from tirlens.evaluation.libraries.pytest_functions import Parametrize, fixture_parameter
from tirlens.evaluation.replaced_names import replaced_names
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    Function,
    Instance,
    ModuleScope,
    Options,
    Value,
)

_MAX_CASES = 6
_MAX_FIXTURES = 64


@dataclass(frozen=True)
class Test:
    """A function that pytest or its program calls; `owner` is its class, if it has one."""

    function: Function
    owner: Class | None = None


def tests(scope: ModuleScope) -> Iterator[Test]:
    """The tests of a module that has been executed, and its functions that run benchmarks."""
    for name, value in list(scope.frame.names.items()):
        if isinstance(value, Function) and name.startswith(("test", "bench", "run", "main")):
            if value.frame is scope.frame and (value.parameter_sets or not name.startswith("run")):
                yield Test(value)
        elif isinstance(value, Class) and value.frame is scope.frame:
            for method, item in value.names.items():
                if isinstance(item, Function) and method.startswith("test"):
                    yield Test(item, value)


def run_case(
    evaluator: Evaluator, scope: ModuleScope, test: Test, case: Mapping[str, Value]
) -> None:
    """Call a test with the arguments of one of its `cases`."""
    fixtures = _Fixtures(evaluator, scope, test, case)
    given = [] if fixtures.instance is None else [fixtures.instance]
    used = [test.function, *fixtures.closure().values()]
    evaluator.replaced = frozenset().union(*(replaced_names(item.node) for item in used))
    try:
        evaluator.call(test.function, given, fixtures.arguments(test.function))
    finally:
        evaluator.replaced = frozenset()


def cases(evaluator: Evaluator, scope: ModuleScope, test: Test) -> Iterator[dict[str, Value]]:
    """Some combinations of the parameters of a test and of its fixtures.

    They are the first, the last, and some between.
    """
    tables: list[list[dict[str, Value]]] = [
        list(table) for table in (*test.function.parameter_sets, *_marks(evaluator, scope)) if table
    ]
    given = {name for table in tables for name in table[0]}
    for name, fixture in _Fixtures(evaluator, scope, test, {}).closure().items():
        key = fixture_parameter(name)
        if fixture.fixture_parameters and not given & {name, key}:
            tables.append([{key: value} for value in fixture.fixture_parameters])
    longest = max(map(len, tables), default=1)
    places = sorted(
        {round(place * (longest - 1) / max(_MAX_CASES - 1, 1)) for place in range(_MAX_CASES)}
    )
    for place in places:
        case: dict[str, Value] = {}
        for table in tables:
            case |= table[place % len(table)]
        yield case


def _marks(evaluator: Evaluator, scope: ModuleScope) -> Iterator[tuple[dict[str, Value], ...]]:
    """The tables of a module's ``pytestmark``."""
    if "pytestmark" not in scope.bindings:
        return
    value = evaluator.module_value(scope, "pytestmark")
    for mark in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(mark, Parametrize):
            yield mark.sets


class _Fixtures:
    """The fixtures of a test, each evaluated once in a case."""

    def __init__(
        self, evaluator: Evaluator, scope: ModuleScope, test: Test, case: Mapping[str, Value]
    ) -> None:
        self._evaluator = evaluator
        self._scope = scope
        self._owner = test.owner
        self._test = test
        self._case = case
        self._values: dict[str, Value] = {}
        self._pending: set[str] = set()
        self.instance = None if test.owner is None else Instance(test.owner)

    def arguments(self, function: Function) -> dict[str, Value]:
        """The arguments of a test or a fixture that the case or its fixtures give."""
        return {
            name: value
            for name in _parameters(function)
            if (value := self._value(name)) is not UNKNOWN
        }

    def closure(self) -> dict[str, Function]:
        """The fixtures that the test uses, and those that these use, by name."""
        found: dict[str, Function] = {}
        pending = _parameters(self._test.function)
        while pending and len(found) < _MAX_FIXTURES:
            name = pending.pop(0)
            fixture = None if name in found else self._find(name)
            if fixture is not None:
                found[name] = fixture
                pending += _parameters(fixture)
        return found

    def _value(self, name: str) -> Value:
        if name in self._case:
            return self._case[name]
        fixture = self._find(name)
        if fixture is None or name in self._pending:
            return UNKNOWN
        if name not in self._values:
            self._pending.add(name)
            made: list[Value] = []
            self._evaluator.run(lambda: made.append(self._call(name, fixture)))
            self._pending.discard(name)
            self._values[name] = made[0] if made else UNKNOWN
        return self._values[name]

    def _call(self, name: str, fixture: Function) -> Value:
        named = self.arguments(fixture)
        parameter = self._case.get(fixture_parameter(name), UNKNOWN)
        if "request" in _parameters(fixture):
            named["request"] = Options({"param": parameter})
        given = [self.instance] if fixture.owner is not None and not fixture.is_static else []
        made = self._evaluator.call(fixture, given, named)
        # What a generator yields is the value; the rest of it cleans up.
        return made[0] if fixture.is_generator and isinstance(made, list) and made else made

    def _find(self, name: str) -> Function | None:
        classes = [] if self._owner is None else self._owner.lineage()
        found = next((item.names[name] for item in classes if name in item.names), UNKNOWN)
        scopes = itertools.chain([self._scope], self._configurations())
        while found is UNKNOWN and (scope := next(scopes, None)) is not None:
            if name in scope.bindings:
                found = self._evaluator.module_value(scope, name)
        return found if isinstance(found, Function) and found.is_fixture else None

    def _configurations(self) -> Iterator[ModuleScope]:
        """The ``conftest.py`` of the test's folder and of those above."""
        for folder in PurePosixPath(self._scope.path).parents:
            scope = self._evaluator.module_at((folder / "conftest.py").as_posix())
            if scope is not None:
                yield scope


def _parameters(function: Function) -> list[str]:
    spec = function.node.args
    names = [item.arg for item in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    return names[1:] if function.owner is not None and not function.is_static else names
