"""Where a kernel is defined, the call of its factory, and where it is launched."""

from __future__ import annotations

import functools
import inspect
import os
import sysconfig
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import framework_names
from ..program.values_as_text import NoTextError, arguments_text
from .unknown_values import UnknownInt

_LIBRARIES = tuple(
    os.path.normcase(os.path.realpath(path)) + os.sep
    for path in {*map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))}
    if path
)
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_FRAMEWORKS = (*framework_names.MODULES, "tvm_ffi", "torch", "tirlens_worker")


@dataclass(frozen=True)
class Call:
    """The call of the factory that made a kernel.

    `file` is the path of the module, `function` the dotted name of the outermost function.  `text`
    is the call as an expression of the module; None with the reason in `problem`.  `unknown` are
    the arguments that depend on data, which is not known without a GPU.
    """

    file: str
    function: str
    text: Optional[str]
    problem: str = ""
    unknown: Tuple[str, ...] = ()

    def then(self, arguments: Sequence[Any], named: Mapping[str, Any], names: Any) -> Call:
        """The call of what this call returns."""
        if self.text is None:
            return self
        try:
            text = "{}({})".format(self.text, arguments_text(arguments, named, names))
        except NoTextError as error:
            return Call(self.file, self.function, None, str(error))
        unknown = (*self.unknown, *_unknown_arguments(arguments, named))
        return Call(self.file, self.function, text, unknown=unknown)


def _unknown_arguments(arguments: Sequence[Any], named: Mapping[str, Any]) -> List[str]:
    """The arguments of a call that depend on data, by their names or places."""
    given = {**{"argument {}".format(i + 1): item for i, item in enumerate(arguments)}, **named}
    return [name for name, value in given.items() if isinstance(value, UnknownInt)]


def caller() -> Any:
    """The frame that has called the caller of this function."""
    frame = inspect.currentframe()
    own = frame and frame.f_back
    return own and own.f_back


def is_framework(frame: FrameType) -> bool:
    """Whether a frame is of a framework, or of this recording."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _FRAMEWORKS


def user_frame(frame: Optional[FrameType]) -> Optional[FrameType]:
    """The innermost frame at or around `frame` that is no framework's."""
    while frame is not None and is_framework(frame):
        frame = frame.f_back
    return frame


def enclosing_call(frame: Optional[FrameType]) -> Optional[Call]:
    """The call of the function in which a kernel is being defined; None at a module's top level."""
    frame = user_frame(frame)
    frames: List[FrameType] = []
    while frame is not None and frame.f_code.co_name != "<module>":
        if not _is_class_body(frame.f_code):
            frames.append(frame)
        frame = _enclosing_frame(frame)
    if not frames:
        return None
    outer = frames[-1]
    file, name = file_of(outer.f_globals), function_name(outer)
    if name is None:
        return Call(file, frames[0].f_code.co_name, None, "its function has no global name")
    function = _function(outer.f_globals, name)
    try:
        given = _arguments_of(outer, function, name)
        text = "{}({})".format(name, arguments_text((), given, outer.f_globals))
    except NoTextError as error:
        return Call(file, name, None, str(error))
    return Call(file, name, text, unknown=tuple(_unknown_arguments((), given)))


def top_level_call(function: Any) -> Call:
    """The name of a function at the top level of a module, to be called."""
    name = str(function.__qualname__)
    return Call(file_of(function.__globals__), name, name)


def function_name(frame: FrameType) -> Optional[str]:
    """The dotted name of the function of `frame` in its module; None if it has none."""
    found = _names_of(frame.f_code, frame.f_globals)
    return found or None


def file_of(names: Mapping[str, Any]) -> str:
    """The path of the module with these global names."""
    return os.path.abspath(str(names.get("__file__") or names.get("__name__") or "?"))


def launch_place(root: str) -> Tuple[str, int]:
    """The file and line of the user's code that launches the kernel.

    It is the innermost frame in a file below `root` that is of no installed library; else the
    innermost that is of no framework.
    """
    frame = user_frame(caller())
    first = frame
    while frame is not None:
        path = _real(frame.f_code.co_filename)
        if path.startswith(root) and not is_library(path):
            return path, frame.f_lineno
        frame = frame.f_back
    return ("", 0) if first is None else (_real(first.f_code.co_filename), first.f_lineno)


@functools.lru_cache(maxsize=None)
def is_library(path: str) -> bool:
    """Whether a file is of the standard library, an installed package, or of this recording."""
    normal = os.path.normcase(path)
    return normal.startswith(_LIBRARIES) or "site-packages" in normal or path.startswith(_OWN)


@functools.lru_cache(maxsize=None)
def _real(path: str) -> str:
    return os.path.realpath(path)


def _is_class_body(code: CodeType) -> bool:
    return "__qualname__" in code.co_names and not code.co_flags & inspect.CO_OPTIMIZED


def _enclosing_frame(frame: FrameType) -> Optional[FrameType]:
    """The frame of the function in which the function of `frame` is written, if it is running."""
    around = frame.f_back
    while around is not None:
        if frame.f_code in around.f_code.co_consts and around.f_code.co_name != "<module>":
            return around
        around = around.f_back
    return None


_names: Dict[CodeType, str] = {}


def _names_of(code: CodeType, names: Mapping[str, Any]) -> str:
    known = _names.get(code)
    if known is None:
        known = _names[code] = _search(code, names)
    return known


def _search(code: CodeType, names: Mapping[str, Any]) -> str:
    if code.co_name in names and _code_of(names[code.co_name]) is code:
        return code.co_name
    file = names.get("__name__")
    for name, value in list(names.items()):
        if _code_of(value) is code:
            return name
        if isinstance(value, type) and value.__module__ == file:
            for method, item in list(vars(value).items()):
                if _code_of(getattr(item, "__func__", item)) is code:
                    return "{}.{}".format(name, method)
    # While a decorator runs, its function is not yet bound to its name.
    qualified = str(getattr(code, "co_qualname", ""))
    return qualified if "<" not in qualified else ""


def _code_of(value: Any) -> Optional[CodeType]:
    for _ in range(8):
        if isinstance(value, FunctionType):
            inner = getattr(value, "__wrapped__", None)
            if inner is None:
                return value.__code__
            value = inner
        elif type(value).__name__ == "_lru_cache_wrapper":
            value = value.__wrapped__
        elif hasattr(value, "get_tir") or hasattr(value, "jit_impl"):
            value = getattr(getattr(value, "jit_impl", value), "func", None)
            value = getattr(value, "orig_func", value)
        else:
            return None
    return None


def _function(names: Mapping[str, Any], name: str) -> Any:
    value: Any = names.get(name.partition(".")[0])
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value


def _arguments_of(frame: FrameType, function: Any, name: str) -> Dict[str, Any]:
    """The arguments of the function of `frame`, without those that are its defaults."""
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        extra = code.co_varnames[count:]
        if any(values.get(item) for item in extra[: bool(code.co_flags & inspect.CO_VARARGS) + 1]):
            raise NoTextError("called with *args or **kwargs")
    defaults = _defaults(function)
    given: Dict[str, Any] = {}
    for parameter in names:
        if parameter in ("self", "cls") and "." in name:
            raise NoTextError("a method of an object")
        if parameter not in values:
            continue
        value = values[parameter]
        default = defaults.get(parameter, inspect.Parameter.empty)
        if default is value or (type(default) is type(value) and _is_equal(default, value)):
            continue
        given[parameter] = value
    return given


def _is_equal(left: Any, right: Any) -> bool:
    return isinstance(left, (bool, int, float, str)) and left == right


def _defaults(function: Any) -> Dict[str, Any]:
    try:
        inner = getattr(getattr(function, "jit_impl", function), "func", function)
        signature = inspect.signature(getattr(inner, "orig_func", inner))
    except (TypeError, ValueError):
        return {}
    return {name: item.default for name, item in signature.parameters.items()}
