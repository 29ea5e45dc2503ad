"""What single functions of Python, torch, pytest and the standard library return."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from tirlens.evaluation import tensor_shapes
from tirlens.evaluation.data_files import FileText
from tirlens.evaluation.tensor_shapes import Tensor
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    External,
    FieldFactory,
    Function,
    Instance,
    Options,
    Parser,
    Partial,
    Unknown,
    Value,
    items_of,
    truth,
)

_MAX_SETS = 64
_SAME_DTYPES = {
    "half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64",
    "short": "int16",
}  # fmt: skip
_PLAIN_TYPES = {
    "int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple,
    "dict": dict,
}  # fmt: skip


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


def path_of(value: Value) -> str:
    """The dotted path of a library's name; empty for other values."""
    return value.path if isinstance(value, External) else ""


def external_attribute(base: External, name: str) -> Value:
    """An attribute of a library's name."""
    if base.path.startswith("torch.") and name == "itemsize":
        return tensor_shapes.itemsize(base) or UNKNOWN
    if base.path == "torch.device" and name in ("type", "index"):
        return "cuda" if name == "type" else 0
    if base.path == "torch":
        return External(f"torch.{_SAME_DTYPES.get(name, name)}")
    if base.path == "torch.version" and name in ("hip", "xpu"):
        return None
    if base.path == "math" and name in ("inf", "pi", "e"):
        return getattr(math, name)
    return External(f"{base.path}.{name}")


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


def _isinstance(positional: list[Value], named: dict[str, Value]) -> Value:
    value, kinds = positional
    if isinstance(value, (Unknown, FileText)):
        return UNKNOWN
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        plain = _PLAIN_TYPES.get(path_of(kind).removeprefix("builtins."))
        if plain is not None and isinstance(value, plain):
            return True
        if isinstance(kind, Class) and isinstance(value, Instance) and kind in value.of.lineage():
            return True
        if path_of(kind).endswith("torch.Tensor") and isinstance(value, Tensor):
            return True
        if path_of(kind) == "torch.dtype" and tensor_shapes.itemsize(value) is not None:
            return True
    is_object = isinstance(value, External) and tensor_shapes.itemsize(value) is None
    return UNKNOWN if is_object else False


def _getattr(positional: list[Value], named: dict[str, Value]) -> Value:
    owner, name = positional[:2]
    if isinstance(name, External) and name.is_dtype:
        # tilelang's dtypes are texts.
        name = name.path.rpartition(".")[2]
    if not isinstance(name, str):
        return UNKNOWN
    if isinstance(owner, Options) and name in owner.values:
        return owner.values[name]
    if isinstance(owner, Instance) and name in owner.attributes:
        return owner.attributes[name]
    if isinstance(owner, External):
        return external_attribute(owner, name)
    return positional[2] if len(positional) > 2 and isinstance(owner, Instance) else UNKNOWN


def _setattr(positional: list[Value], named: dict[str, Value]) -> Value:
    owner, name, value = positional[:3]
    if isinstance(owner, Instance):
        owner.attributes[str(name)] = value
    elif isinstance(owner, Class):
        owner.names[str(name)] = value
    return None


def _zip(positional: list[Value], named: dict[str, Value]) -> Value:
    if not all(isinstance(item, (list, tuple)) for item in positional):
        return UNKNOWN
    return [tuple(items) for items in zip(*positional, strict=False)]


def _enumerate(positional: list[Value], named: dict[str, Value]) -> Value:
    items = positional[0]
    return list(enumerate(items)) if isinstance(items, (list, tuple)) else UNKNOWN


def _product(positional: list[Value], named: dict[str, Value]) -> Value:
    if not all(isinstance(item, (list, tuple)) for item in positional):
        return UNKNOWN
    repeat = named.get("repeat", 1)
    return list(itertools.islice(itertools.product(*positional, repeat=repeat), _MAX_SETS))


def _sort(positional: list[Value], named: dict[str, Value]) -> Value:
    """The items in order, or as they are where the order depends on a function."""
    items = positional[0]
    if named or not isinstance(items, (list, tuple)):
        return items
    return sorted(items) if all(isinstance(item, (int, float, str)) for item in items) else items


def _dict(positional: list[Value], named: dict[str, Value]) -> Value:
    return {**(dict(positional[0]) if positional else {}), **named}


def _first(positional: list[Value], named: dict[str, Value]) -> Value:
    return positional[0] if positional else UNKNOWN


def _next(positional: list[Value], named: dict[str, Value]) -> Value:
    items = positional[0] if positional else UNKNOWN
    if isinstance(items, list):
        return items.pop(0) if items else UNKNOWN
    return UNKNOWN


def _type(positional: list[Value], named: dict[str, Value]) -> Value:
    value = positional[0] if positional else UNKNOWN
    return value.of if isinstance(value, Instance) else UNKNOWN


def _has_attribute(positional: list[Value], named: dict[str, Value]) -> Value:
    owner, name = positional[:2]
    if isinstance(owner, Instance):
        return name in owner.attributes or any(name in item.names for item in owner.of.lineage())
    return UNKNOWN


def _new_dict(positional: list[Value], named: dict[str, Value]) -> Value:
    given = next((item for item in positional if isinstance(item, dict)), {})
    return dict(given)


def _environment_variable(positional: list[Value], named: dict[str, Value]) -> Value:
    """No variable is set, so that a program takes its default."""
    return positional[1] if len(positional) > 1 else named.get("default")


def _replace(positional: list[Value], named: dict[str, Value]) -> Value:
    owner = positional[0]
    if not isinstance(owner, Instance):
        return UNKNOWN
    return Instance(owner.of, {**owner.attributes, **named})


def _field(positional: list[Value], named: dict[str, Value]) -> Value:
    """The default of a field: `dataclasses.field` takes no positional ones, pydantic's does."""
    factory = named.get("default_factory", named.get("factory"))
    if factory is not None:
        return FieldFactory(factory)
    return named.get("default", positional[0] if positional else UNKNOWN)


def _as_dict(positional: list[Value], named: dict[str, Value]) -> Value:
    owner = positional[0] if positional else UNKNOWN
    return dict(owner.attributes) if isinstance(owner, Instance) else UNKNOWN


def _any(positional: list[Value], named: dict[str, Value]) -> Value:
    items = items_of(positional[0])
    found = [None] if items is None else [truth(item) for item in items]
    return True if True in found else UNKNOWN if None in found else False


def _all(positional: list[Value], named: dict[str, Value]) -> Value:
    items = items_of(positional[0])
    found = [None] if items is None else [truth(item) for item in items]
    return False if False in found else UNKNOWN if None in found else True


def _items(positional: list[Value], named: dict[str, Value]) -> Value:
    if not positional:
        return []
    items = positional[0]
    return list(items) if isinstance(items, (list, tuple, set, dict)) else UNKNOWN


def _broadcast_shapes(positional: list[Value], named: dict[str, Value]) -> Value:
    """The shape of an elementwise result of arrays of these shapes; an integer is a shape, too."""
    shapes = [(item,) if type(item) is int else items_of(item) for item in positional]
    if any(shape is None for shape in shapes):
        return UNKNOWN
    return functools.reduce(tensor_shapes.broadcast, (tuple(shape or ()) for shape in shapes), ())


def _middle(positional: list[Value], named: dict[str, Value]) -> Value:
    """A random number is the middle of its range."""
    bounds = positional[:2] if len(positional) > 1 else [0, *positional]
    known = len(bounds) == 2 and all(type(item) is int for item in bounds)
    return sum(bounds) // 2 if known and len(positional) < 3 and not named else UNKNOWN


def _middle_item(positional: list[Value]) -> Value:
    items = items_of(positional[0]) if positional else None
    return items[len(items) // 2] if items else UNKNOWN


SPECIAL: dict[str, Callable[[list[Value], dict[str, Value]], Value]] = {
    "parametrize": _parametrize,
    "pytest.param": lambda positional, named: _Param(tuple(positional)),
    "argparse.ArgumentParser": lambda positional, named: Parser(),
    "types.SimpleNamespace": lambda positional, named: Options(named),
    "argparse.Namespace": lambda positional, named: Options(named),
    "pytest.fixture": _fixture,
    "pytest_asyncio.fixture": _fixture,
    "functools.partial": lambda positional, named: Partial(
        positional[0], tuple(positional[1:]), named
    ),
    "os.getenv": _environment_variable,
    "os.environ.get": _environment_variable,
    "dataclasses.replace": _replace,
    "dataclasses.asdict": _as_dict,
    "dataclasses.field": _field,
    "attr.ib": _field,
    "attrs.field": _field,
    "pydantic.Field": _field,
    "builtins.vars": _as_dict,
    "builtins.isinstance": _isinstance,
    "builtins.any": _any,
    "builtins.all": _all,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.object.__setattr__": _setattr,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.sorted": _sort,
    "builtins.dict": _dict,
    "builtins.next": _next,
    "builtins.iter": _first,
    "builtins.type": _type,
    "builtins.hasattr": _has_attribute,
    "builtins.set": _items,
    "builtins.frozenset": _items,
    "builtins.reversed": lambda positional, named: positional[0][::-1],
    "itertools.count": lambda positional, named: list(range(_MAX_SETS)),
    "weakref.WeakValueDictionary": _new_dict,
    "weakref.WeakKeyDictionary": _new_dict,
    "collections.OrderedDict": _new_dict,
    "collections.defaultdict": _new_dict,
    "types.MappingProxyType": _new_dict,
    "itertools.product": _product,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "torch.broadcast_shapes": _broadcast_shapes,
    "torch.cuda.current_device": lambda positional, named: 0,
    "torch.cuda.device_count": lambda positional, named: 1,
    "torch.cuda.is_available": lambda positional, named: True,
    "random.randint": _middle,
    "random.randrange": _middle,
    "numpy.random.randint": _middle,
    "random.choice": lambda positional, named: _middle_item(positional),
    "enum.auto": lambda positional, named: UNKNOWN,
}
