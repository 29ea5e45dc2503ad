"""Functions of pytest: the arguments that it gives to tests."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from tirlens.evaluation.libraries.library_function import LibraryFunction
from tirlens.evaluation.values import Class, Function, Value

_MAX_SETS = 64


@dataclass(frozen=True)
class Parametrize:
    """``pytest.mark.parametrize(names, values)``."""

    sets: tuple[dict[str, Value], ...]

    def apply_to(self, function: Value) -> Value:
        """The test with one more table of arguments."""
        if isinstance(function, Function):
            return replace(function, parameter_sets=(*function.parameter_sets, self.sets))
        if isinstance(function, Class):
            for name, item in function.names.items():
                if isinstance(item, Function) and name.startswith("test"):
                    function.names[name] = self.apply_to(item)
        return function


def fixture_parameter(name: str) -> str:
    """The key of a fixture's parameter among the arguments of a test, which no argument has."""
    return f"{name}.param"


@dataclass(frozen=True)
class Fixture:
    """``pytest.fixture(params=parameters)``."""

    parameters: tuple[Value, ...]

    def apply_to(self, function: Value) -> Value:
        """The function as a fixture with these parameters."""
        if not isinstance(function, Function):
            return function
        return replace(function, is_fixture=True, fixture_parameters=self.parameters)


@dataclass(frozen=True)
class _Param:
    values: tuple[Value, ...]


def _parametrize(positional: list[Value], named: dict[str, Value]) -> Value:
    names = positional[0] if positional else named.get("argnames", "")
    values = positional[1] if len(positional) > 1 else named.get("argvalues")
    listed = names.split(",") if isinstance(names, str) else list(names)
    keys = [str(name).strip() for name in listed]
    indirect = named.get("indirect", False)
    through = keys if indirect is True else indirect if isinstance(indirect, (list, tuple)) else ()
    keys = [fixture_parameter(key) if key in through else key for key in keys]
    if not isinstance(values, (list, tuple)):
        return Parametrize(())
    sets: list[dict[str, Value]] = []
    for value in cast("list[Value]", values)[:_MAX_SETS]:
        items = value if len(keys) > 1 else (value,)
        if isinstance(value, _Param):
            items = value.values
        if isinstance(items, (list, tuple)):
            sets.append(dict(zip(keys, cast("list[Value]", items), strict=False)))
    return Parametrize(tuple(sets))


def _fixture(positional: list[Value], named: dict[str, Value]) -> Value:
    if positional and isinstance(positional[0], Function):
        return Fixture(()).apply_to(positional[0])
    values = named.get("params")
    listed = values if isinstance(values, (list, tuple)) else ()
    return Fixture(
        tuple(
            item.values[0] if isinstance(item, _Param) and item.values else item
            for item in listed[:_MAX_SETS]
        )
    )


FUNCTIONS: dict[str, LibraryFunction] = {
    "parametrize": _parametrize,
    "pytest.fixture": _fixture,
    "pytest.param": lambda positional, named: _Param(tuple(positional)),
    "pytest_asyncio.fixture": _fixture,
}
