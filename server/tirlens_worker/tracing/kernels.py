"""Values that are kernels, and their IR functions."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Dict, List, Optional, Sequence, Tuple, cast

from ..frameworks import adapters
from ..program.compilations import CapturedKernel
from ..protocol import KernelRequest

Named = Tuple[Optional[str], Any]


class NoKernelError(Exception):
    """A call did not yield a kernel."""


def is_kernel(value: Any) -> bool:
    """Whether `value` contains an IR function."""
    return bool(functions(value))


def functions(value: Any) -> List[Named]:
    """The IR functions in `value`, each with its name if it is in a module."""
    name = type(value).__name__
    if not type(value).__module__.startswith("tvm") and name in ("PrimFunc", "IRModule"):
        # The functions of another language.
        return []
    if _is_function(value):
        return [(None, value)]
    if name == "IRModule":
        return [
            (variable.name_hint, function)
            for variable, function in value.functions.items()
            if _is_function(function)
        ]
    if name == "Schedule":
        return functions(value.mod)
    if isinstance(value, CapturedKernel):
        return functions(value.prim_func)
    if isinstance(value, (list, tuple)):
        return [function for part in cast(Sequence[Any], value) for function in functions(part)]
    if isinstance(value, dict):
        return [
            function
            for part in cast(Dict[Any, Any], value).values()
            for function in functions(part)
        ]
    return [(None, function) for function in _functions_of_object(value)]


def _is_function(value: Any) -> bool:
    return type(value).__name__ == "PrimFunc" or adapters.is_function(value)


def _functions_of_object(value: Any) -> List[Any]:
    """The IR functions in the attributes of an object of a user's class, such as a builder's."""
    if isinstance(value, (type, ModuleType)) or callable(value):
        return []
    attributes: Dict[str, Any] = getattr(value, "__dict__", {})
    return [item for item in attributes.values() if _is_function(item)]


def with_first_configuration(value: Any) -> Any:
    """The kernel of a tilelang ``AutoTuner`` in `value`, by its first configuration.

    Other values are returned as they are.
    """
    is_sequence = isinstance(value, (list, tuple))
    parts: Sequence[Any] = cast(Sequence[Any], value) if is_sequence else (value,)
    for part in parts:
        if type(part).__name__ == "AutoTuner" and type(part).__module__.startswith("tilelang"):
            return part.run().kernel
    return value


def choose(found: List[Named], request: KernelRequest) -> List[Named]:
    """The function that the request names, or all; the first of several of that name."""
    if request.prim_func is not None and len(found) > 1:
        named = [pair for pair in found if pair[0] == request.prim_func]
        named = named or [pair for pair in found if symbol(pair[1]) == request.prim_func]
        if named:
            return named[:1]
    return found


def symbol(function: Any) -> Optional[str]:
    """The name by which an IR function is linked, else that of its `def`."""
    attributes = getattr(function, "attrs", None)
    if attributes is not None and "global_symbol" in attributes:
        return str(attributes["global_symbol"])
    return getattr(function, "__name__", None)


def kind(value: Any) -> str:
    """What to call `value` in a message."""
    return "nothing" if value is None else "a {}".format(type(value).__name__)
