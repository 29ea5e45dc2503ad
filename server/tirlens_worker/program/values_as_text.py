"""Values as Python expressions that are valid in the module of a kernel."""

# The values are of other programs and have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import operator
import sys
from types import FunctionType, MethodType
from typing import Any, Mapping, Sequence, cast

from .. import framework_names
from . import local_functions

_MAX_DEPTH = 6
_MAX_CHARACTERS = 2000


class NoTextError(ValueError):
    """A value that no short expression yields."""


def text_of(value: Any, names: Mapping[str, Any], depth: int = 0) -> str:
    """An expression that yields `value` where `names` are the global names.

    Raises:
        NoTextError: there is none, or it is too long.
    """
    text = _text_of(value, names, depth)
    if len(text) > _MAX_CHARACTERS:
        raise NoTextError("a long value")
    return text


def arguments_text(
    positional: Sequence[Any], named: Mapping[str, Any], names: Mapping[str, Any]
) -> str:
    """The arguments of a call as text.

    Raises:
        NoTextError: an argument has none.
    """
    words = [_argument("", value, names) for value in positional]
    words += [name + "=" + _argument(name, value, names) for name, value in named.items()]
    return ", ".join(words)


def _argument(name: str, value: Any, names: Mapping[str, Any]) -> str:
    try:
        return text_of(value, names)
    except NoTextError as error:
        prefix = "{} is ".format(name) if name else "an argument is "
        raise NoTextError(prefix + str(error)) from None


def _text_of(value: Any, names: Mapping[str, Any], depth: int) -> str:
    kind: Any = type(value)
    if depth > _MAX_DEPTH:
        raise NoTextError("a deep structure")
    if isinstance(value, enum.Enum):
        return "{}.{}".format(text_of(kind, names, depth + 1), value.name)
    if value is None or value is Ellipsis or isinstance(value, (bool, bytes)):
        return repr(value)
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else "float('{}')".format(float(value))
    if kind.__module__ == "torch" or kind.__module__.startswith("torch."):
        return _torch_text(value, names)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass_text(value, names, depth)
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return _container_text(value, names, depth)
    if isinstance(value, (range, complex)):
        return repr(value)
    if isinstance(value, functools.partial):
        arguments = arguments_text((value.func, *value.args), value.keywords, names)
        return "__import__('functools').partial({})".format(arguments)
    if kind.__module__.split(".")[0] in (*framework_names.MODULES, "tvm_ffi"):
        return _framework_text(value, names)
    if isinstance(value, FunctionType) and "<locals>" in value.__qualname__:
        return _local_text(value, names, depth)
    if isinstance(value, MethodType) and not isinstance(value.__self__, type):
        return "{}.{}".format(text_of(value.__self__, names, depth + 1), value.__name__)
    if isinstance(value, type) or callable(value):
        return _named_text(value, names)
    if _is_index(value):
        return repr(operator.index(value))
    raise NoTextError("a {}".format(kind.__name__))


def _is_index(value: Any) -> bool:
    """Whether a value is a whole number of another library."""
    return hasattr(value, "__index__") and not getattr(value, "shape", ())


def _container_text(value: Any, names: Mapping[str, Any], depth: int) -> str:
    if isinstance(value, dict):
        pairs = cast("Mapping[Any, Any]", value).items()
        return "{{{}}}".format(
            ", ".join(
                "{}: {}".format(text_of(key, names, depth + 1), text_of(item, names, depth + 1))
                for key, item in pairs
            )
        )
    items = [text_of(item, names, depth + 1) for item in value]
    if isinstance(value, list):
        return "[{}]".format(", ".join(items))
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return "{}({})".format(text_of(type(value), names, depth + 1), ", ".join(items))
        return "({})".format(", ".join(items) + ("," if len(items) == 1 else ""))
    return "{}([{}])".format(type(value).__name__, ", ".join(sorted(items)))


def _dataclass_text(value: Any, names: Mapping[str, Any], depth: int) -> str:
    fields = [item for item in dataclasses.fields(value) if item.init]
    given = ", ".join(
        "{}={}".format(item.name, text_of(getattr(value, item.name), names, depth + 1))
        for item in fields
    )
    return "{}({})".format(text_of(type(value), names, depth + 1), given)


def _torch_text(value: Any, names: Mapping[str, Any]) -> str:
    torch = sys.modules["torch"]
    name = module_text("torch", names)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return "{}.{}".format(name, str(value).split(".")[-1])
    if isinstance(value, torch.Size):
        return repr(tuple(value))
    if isinstance(value, torch.device):
        return "{}.device({!r})".format(name, str(value))
    if isinstance(value, torch.Tensor):
        shape, dtype = tuple(value.shape), str(value.dtype).split(".")[-1]
        return "{}.empty({}, dtype={}.{}, device='meta')".format(name, shape, name, dtype)
    if callable(value):
        return _named_text(value, names)
    raise NoTextError("a {}".format(type(value).__name__))


def _framework_text(value: Any, names: Mapping[str, Any]) -> str:
    kind = type(value).__name__
    if kind in ("dtype", "DataType", "PrimType"):
        return repr(str(value))
    if kind == "IntImm":
        return repr(int(value))
    if kind == "Var" and "tilelang" in sys.modules:
        language = module_text("tilelang.language", names)
        return "{}.dynamic({!r})".format(language, str(value.name))
    if isinstance(value, type) or callable(value):
        return _named_text(value, names)
    raise NoTextError("a {}".format(kind))


def module_text(module: str, names: Mapping[str, Any]) -> str:
    """An expression for a module: the name by which it is imported, else an import."""
    found = sys.modules.get(module)
    for name, value in names.items():
        if value is found and name.isidentifier() and not name.startswith("_"):
            return name
    if "." in module:
        return "__import__({!r}, fromlist=['x'])".format(module)
    return "__import__({!r})".format(module)


def _local_text(value: FunctionType, names: Mapping[str, Any], depth: int) -> str:
    """An expression for a function inside functions; its name if it has a global one."""
    try:
        return _named_text(value, names)
    except NoTextError:
        path, module = local_functions.outermost_name(value), sys.modules.get(value.__module__)
        is_own = value.__globals__ is names
        if not path or not (is_own or (module and value.__module__ != "__main__")):
            raise
        where = "" if is_own else module_text(value.__module__, names)
        head, _, rest = path.partition(".")
        outer = _attribute(value.__globals__.get(head), rest)
        text = local_functions.expression(
            value,
            outer,
            path if is_own else "{}.{}".format(where, path),
            "globals()" if is_own else "vars({})".format(where),
            lambda item: text_of(item, names, depth + 1),
        )
        if text is None:
            raise
        return text


def _named_text(value: Any, names: Mapping[str, Any]) -> str:
    """An expression for a function or class: its name, or its path from its module."""
    qualified = str(getattr(value, "__qualname__", "") or getattr(value, "__name__", ""))
    module = str(getattr(value, "__module__", ""))
    head, _, rest = qualified.partition(".")
    for name in dict.fromkeys((head, qualified)):
        if name in names and _attribute(names[name], rest) is value:
            return qualified
    for name, item in names.items():
        if item is value and name.isidentifier():
            return name
    if module == "builtins" and hasattr(value, "__self__") is False:
        return qualified
    if "<lambda>" in qualified:
        raise NoTextError("a lambda")
    if "<" in qualified:
        raise NoTextError("the local function " + qualified)
    found = sys.modules.get(module)
    if found is None or module == "__main__":
        raise NoTextError("a {}".format(type(value).__name__))
    if _attribute(found, qualified) is not value:
        raise NoTextError("a {}".format(type(value).__name__))
    return "{}.{}".format(module_text(module, names), qualified)


def _attribute(value: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        value = getattr(value, name, None)
    return value
