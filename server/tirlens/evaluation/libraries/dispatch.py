"""Calls of functions of libraries, and of methods of values."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import builtins
import functools
import importlib
import pkgutil
from dataclasses import dataclass

from tirlens.evaluation import libraries
from tirlens.evaluation.libraries import argument_parser, kernel_libraries, python_methods
from tirlens.evaluation.libraries.library_function import LibraryFunction
from tirlens.evaluation.libraries.pytest_functions import Parametrize
from tirlens.evaluation.libraries.torch import tensors
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    External,
    Function,
    GoalCall,
    Instance,
    Parser,
    Partial,
    Value,
)

NOT_KNOWN = object()
"""The result of `call` for a function that is not known here."""

# Functions that return their argument, or a decorator which does.
_DECORATORS = frozenset(
    (
        "custom_op", "triton_op", "lru_cache", "cache", "wraps", "compile", "no_grad", "jit",
        "inference_mode", "autotune", "contextmanager", "enable_grad", "staticmethod",
    )
)  # fmt: skip
_CALLABLE = (Function, Class, Partial, Instance)


@dataclass(eq=False)
class Method:
    """A method of a value of Python's own, a parser or a compiled kernel."""

    owner: Value
    name: str


@functools.cache
def functions() -> dict[str, LibraryFunction]:
    """The functions of all modules of `libraries`, by path or last name."""
    names = sorted(module.name for module in pkgutil.iter_modules(libraries.__path__))
    modules = [importlib.import_module(f"{libraries.__name__}.{name}") for name in names]
    tables: list[dict[str, LibraryFunction]] = [getattr(one, "FUNCTIONS", {}) for one in modules]
    return {path: function for table in tables for path, function in table.items()}


def is_builtin(name: str) -> bool:
    """Whether `name` is one of Python's built-in names."""
    return hasattr(builtins, name)


def call(
    function: External | Method | Parametrize, positional: list[Value], named: dict[str, Value]
) -> Value:
    """The value of a call; `NOT_KNOWN` for a function that is not known here."""
    if isinstance(function, Method):
        return _method(function, positional, named)
    if isinstance(function, Parametrize):
        return function.apply_to(positional[0]) if positional else UNKNOWN
    path = function.path
    last = path.rpartition(".")[2]
    if path.endswith("()"):
        return positional[0] if positional else UNKNOWN
    if last in _DECORATORS:
        given = next((item for item in positional if isinstance(item, _CALLABLE)), None)
        return External(f"{path}()") if given is None else given
    known = functions().get(path) or functions().get(last) or kernel_libraries.find(path)
    if known is not None:
        return known(positional, named)
    if path.startswith("torch.cuda"):
        return UNKNOWN
    made = tensors.create(last, positional, named) if path.startswith("torch.") else UNKNOWN
    return NOT_KNOWN if made is UNKNOWN else made


def _method(method: Method, positional: list[Value], named: dict[str, Value]) -> Value:
    owner, name = method.owner, method.name
    if isinstance(owner, Tensor):
        return tensors.method(owner, name, positional, named)
    if isinstance(owner, Parser):
        return argument_parser.method(owner, name, positional, named)
    if isinstance(owner, GoalCall):
        return UNKNOWN
    return python_methods.method(owner, name, positional, named)
