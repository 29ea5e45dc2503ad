"""Functions of Python's standard library."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import itertools
import math

from tirlens.evaluation.libraries.library_function import LibraryFunction, first, of_constants
from tirlens.evaluation.values import UNKNOWN, Options, Partial, Value

_MAX_SETS = 64


def _product(positional: list[Value], named: dict[str, Value]) -> Value:
    if not all(isinstance(item, (list, tuple)) for item in positional):
        return UNKNOWN
    repeat = named.get("repeat", 1)
    return list(itertools.islice(itertools.product(*positional, repeat=repeat), _MAX_SETS))


def _new_dict(positional: list[Value], named: dict[str, Value]) -> Value:
    given = next((item for item in positional if isinstance(item, dict)), {})
    return dict(given)


def _environment_variable(positional: list[Value], named: dict[str, Value]) -> Value:
    """No variable is set, so that a program takes its default."""
    return positional[1] if len(positional) > 1 else named.get("default")


FUNCTIONS: dict[str, LibraryFunction] = {
    "collections.OrderedDict": _new_dict,
    "collections.defaultdict": _new_dict,
    "copy.copy": first,
    "copy.deepcopy": first,
    "enum.auto": lambda positional, named: UNKNOWN,
    "functools.partial": lambda positional, named: Partial(
        positional[0], tuple(positional[1:]), named
    ),
    "itertools.count": lambda positional, named: list(range(_MAX_SETS)),
    "itertools.product": _product,
    "math.ceil": of_constants(math.ceil),
    "math.exp": of_constants(math.exp),
    "math.floor": of_constants(math.floor),
    "math.gcd": of_constants(math.gcd),
    "math.isqrt": of_constants(math.isqrt),
    "math.log": of_constants(math.log),
    "math.log2": of_constants(math.log2),
    "math.prod": of_constants(math.prod),
    "math.sqrt": of_constants(math.sqrt),
    "os.environ.get": _environment_variable,
    "os.getenv": _environment_variable,
    "types.MappingProxyType": _new_dict,
    "types.SimpleNamespace": lambda positional, named: Options(named),
    "weakref.WeakKeyDictionary": _new_dict,
    "weakref.WeakValueDictionary": _new_dict,
}
