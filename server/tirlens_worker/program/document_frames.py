"""The lines and calls of a document that are executed, by the frames of the interpreter."""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FrameType
from typing import Any, Optional, Set, Tuple, cast

_UNKNOWN = "..."
_MAX_CHARACTERS = 40
_VARIADIC = 0x04 | 0x08


def frame_above(depth: int) -> Optional[FrameType]:
    """The frame `depth` above that of the caller."""
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = None if frame is None else frame.f_back
    return frame


def frame_of(path: str, frame: Optional[FrameType]) -> Optional[FrameType]:
    """The nearest frame of the file `path`, from `frame` upwards."""
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return frame


def call_above(path: str, frame: Optional[FrameType]) -> str:
    """The call by the file `path` of its function that is executed; empty if there is none."""
    inner = frame_of(path, frame)
    outer = None if inner is None else frame_of(path, inner.f_back)
    return "" if inner is None or outer is None else _called_text(inner)


def _called_text(frame: FrameType) -> str:
    """``build(1024, 'float16')`` for the function that `frame` executes.

    An argument is ``...`` where its value has no short text, or where the function assigns to it.
    """
    code = frame.f_code
    positional = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    assigned = _assigned_names(code)

    def value_of(name: str) -> str:
        return _UNKNOWN if name in assigned else _short_text(frame.f_locals.get(name))

    arguments = [value_of(name) for name in positional if name != "self"]
    arguments += ["{}={}".format(name, value_of(name)) for name in named]
    if code.co_flags & _VARIADIC:
        arguments.append(_UNKNOWN)
    return "{}({})".format(code.co_name, ", ".join(arguments))


def _assigned_names(code: CodeType) -> Set[str]:
    """The local variables that the function assigns to."""
    found: Set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            value: Any = instruction.argval
            # One instruction of Python 3.13 may store two.
            names = cast(Tuple[str, ...], value) if isinstance(value, tuple) else (str(value),)
            found.update(names)
    return found


def _short_text(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # `__repr__` is code of the user.
        return _UNKNOWN
    is_short = len(text) <= _MAX_CHARACTERS and text.isprintable() and " at 0x" not in text
    return text if is_short else _UNKNOWN
