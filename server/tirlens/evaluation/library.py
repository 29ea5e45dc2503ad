"""What functions of Python, torch, pytest and argparse return, as far as sizes depend on it."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import builtins
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from tirlens.evaluation import tensors, unknown_sizes
from tirlens.evaluation.control_flow import LimitError
from tirlens.evaluation.library_functions import SPECIAL, Parametrize
from tirlens.evaluation.operations import FUNCTIONS, UnknownValueError, apply
from tirlens.evaluation.tensor_shapes import Tensor, scalar
from tirlens.evaluation.values import (
    MAX_ITEMS,
    UNKNOWN,
    Class,
    External,
    Function,
    GoalCall,
    Instance,
    LibraryObject,
    LibraryResult,
    Options,
    Parser,
    Partial,
    Value,
    is_known,
    items_of,
)
from tirlens_worker import framework_names

NOT_KNOWN = object()
"""The result of `call` for a function that is not known here."""

_METHODS = {
    str: {
        "split", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "startswith",
        "endswith", "format", "join", "removeprefix", "removesuffix",
    },
    list: {"append", "extend", "insert", "pop", "index", "copy", "sort", "reverse", "count"},
    dict: {"get", "items", "keys", "values", "update", "copy", "pop", "setdefault"},
    tuple: {"index", "count"},
    set: {"add", "union", "copy"},
}  # fmt: skip
_KERNEL_LIBRARIES = (*framework_names.MODULES, "triton", "cutlass", "numba")
_KERNEL_DECORATORS = ("prim_func", "macro", "inline", "kernel")
# Functions that return their argument, or a decorator which does.
_DECORATORS = frozenset(
    (
        "custom_op", "triton_op", "lru_cache", "cache", "wraps", "compile", "no_grad", "jit",
        "inference_mode", "autotune", "contextmanager", "enable_grad", "staticmethod",
    )
)  # fmt: skip
_DIGITS = re.compile(r"\d+")
_CALLABLE = (Function, Class, Partial, Instance)
_PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")


@dataclass(eq=False)
class Method:
    """A method of a value of Python's own, a parser or a compiled kernel."""

    owner: Value
    name: str


def is_builtin(name: str) -> bool:
    """Whether `name` is one of Python's built-in names."""
    return hasattr(builtins, name)


def is_kernel_decorator(path: str) -> bool:
    """Whether a decorator's path is one of functions that run on a device."""
    head, _, last = path.rpartition(".")
    return last in _KERNEL_DECORATORS and head.split(".")[0] in _KERNEL_LIBRARIES


def opens_kernel(path: str) -> bool:
    """Whether the context manager of a library opens the body of a kernel: ``T.Kernel``."""
    return path.startswith("tilelang.") and path.endswith(".Kernel")


def is_generic(path: str) -> bool:
    """Whether a subscript of the library's name is a type: ``tuple[int]``, ``Literal["a"]``."""
    return path.split(".")[0] in ("typing", "builtins", "collections")


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
    special = SPECIAL.get(path) or SPECIAL.get(last)
    if special is not None:
        return special(positional, named)
    if last == "dtype" and path.startswith(("tilelang.", "tvm.")):
        return LibraryObject(path, tuple(positional)) if is_known(positional) else UNKNOWN
    if path.startswith("torch.cuda"):
        return UNKNOWN
    if (
        path.startswith("torch.")
        and (made := tensors.create(last, positional, named)) is not UNKNOWN
    ):
        return made
    return _function(path, positional, named)


def _function(path: str, positional: list[Value], named: dict[str, Value]) -> Value:
    known = FUNCTIONS.get(path.removeprefix("builtins."))
    if known is None and path.split(".")[0] in (*framework_names.MODULES, "triton"):
        known = FUNCTIONS.get(path.rpartition(".")[2])
    if known is None and path.split(".")[0] in framework_names.MODULES:
        return LibraryResult(path, tuple(positional), named)
    if known is None:
        return NOT_KNOWN
    if not all(is_known(item) for item in (*positional, *named.values())):
        return unknown_sizes.function(path.rpartition(".")[2], positional) or UNKNOWN
    if path == "builtins.str" and isinstance(positional[0], External):
        return positional[0].path
    if path == "builtins.len" and isinstance(positional[0], Tensor):
        return positional[0].shape[0] if positional[0].shape else UNKNOWN
    positional = [_number(item) for item in positional]
    if any(isinstance(item, (External, Tensor)) for item in positional):
        return UNKNOWN
    value = apply(known, *positional, **named)
    return list(value) if isinstance(value, range) else value


def _number(value: Value) -> Value:
    """The integers that a small tensor holds, for functions of numbers."""
    if isinstance(value, (list, tuple)):
        items = [scalar(item) for item in cast("list[Value]", value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, Tensor) and len(value.shape) == 1 and value.contents:
        return list(value.contents)
    return scalar(value)


def _method(method: Method, positional: list[Value], named: dict[str, Value]) -> Value:
    owner = method.owner
    if isinstance(owner, Tensor):
        return tensors.method(owner, method.name, positional, named)
    if isinstance(owner, Parser):
        return _parser_method(owner, method.name, positional, named)
    if isinstance(owner, GoalCall):
        return UNKNOWN
    if method.name == "get" and isinstance(owner, dict) and UNKNOWN in owner:
        return owner.get(positional[0], owner[UNKNOWN])
    allowed = _METHODS.get(type(owner), ())
    if method.name not in allowed:
        return UNKNOWN
    if method.name not in ("append", "get", "update", "setdefault", "insert", "extend") and not all(
        is_known(item) for item in positional
    ):
        return UNKNOWN
    if isinstance(owner, str) and not all(is_known(item) for item in named.values()):
        return UNKNOWN
    if method.name == "extend":
        items = items_of(positional[0])
        return UNKNOWN if items is None else extend(cast("list[Value]", owner), items)
    if method.name == "format":
        return apply(_BoundedFormatter().format, owner, *positional, **named)
    value = getattr(owner, method.name)(*positional, **named)
    if isinstance(value, str) and len(value) > MAX_ITEMS:
        return UNKNOWN
    return list(value) if method.name in ("items", "keys", "values") else value


def extend(items: list[Value], more: Sequence[Value]) -> None:
    """Extend a list of the evaluated code.

    Raises:
        LimitError: it becomes too long, and what it holds is not known from here on.
    """
    if len(items) + len(more) > MAX_ITEMS:
        raise LimitError
    items.extend(more)


class _BoundedFormatter(string.Formatter):
    """Formats within limits of width and precision, and without attributes of values."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "." in field_name:
            raise UnknownValueError("an attribute")
        return super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        if any(len(digits) > 4 for digits in _DIGITS.findall(format_spec)):
            raise UnknownValueError("too large")
        return str(super().format_field(value, format_spec))


def _parser_method(
    parser: Parser, name: str, positional: list[Value], named: dict[str, Value]
) -> Value:
    if name in _PARSING:
        options = Options(parser.defaults)
        return (options, []) if name == "parse_known_args" else options
    if name == "add_argument":
        flags = [item for item in positional if isinstance(item, str)]
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        target = named.get("dest", long.lstrip("-").replace("-", "_"))
        default = {"store_true": False, "store_false": True}.get(named.get("action", ""))
        parser.defaults[str(target)] = named.get("default", default)
    elif name == "set_defaults":
        parser.defaults.update(named)
    elif name.startswith("add_"):
        return parser
    return UNKNOWN
