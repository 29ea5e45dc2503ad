"""Numbers and sizes that depend on data, which a program without a GPU does not have.

A number that is asked of a shape is an `UnknownInt`: it remains one in arithmetic.  ``int(...)``
and ``range`` lose that, so the names are found to which the source assigns such a number.  A tensor
whose size is computed of one of them is marked, as is one that a mask selects.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Set

_MARK = "__tirlens_unknown_size__"
_ARITHMETIC = (
    "add", "sub", "mul", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor",
)  # fmt: skip


class UnknownInt(int):
    """A number in whose place another one would be on a GPU."""


def _remaining(name: str) -> Callable[..., Any]:
    original = getattr(int, name)

    def compute(*args: Any) -> Any:
        result = original(*args)
        return UnknownInt(result) if type(result) is int else result

    return compute


for _operation in _ARITHMETIC:
    for _name in ("__{}__".format(_operation), "__r{}__".format(_operation)):
        setattr(UnknownInt, _name, _remaining(_name))
for _name in ("__neg__", "__pos__", "__abs__", "__invert__", "__round__", "__ceil__", "__floor__"):
    setattr(UnknownInt, _name, _remaining(_name))


def mark_size(tensor: Any) -> Any:
    """`tensor`, whose size is not known."""
    if hasattr(tensor, "shape"):
        with contextlib.suppress(AttributeError):
            setattr(tensor, _MARK, True)
    return tensor


def has_unknown_size(tensor: Any) -> bool:
    """Whether the size of a tensor depends on data."""
    return bool(getattr(tensor, _MARK, False))


#: The lines of each code object on which unknown numbers were asked for.
_lines: Dict[CodeType, Set[int]] = {}


def note_read(frame: Optional[FrameType]) -> None:
    """The code of `frame` asks for an unknown number at its present line."""
    if frame is not None:
        _lines.setdefault(frame.f_code, set()).add(frame.f_lineno)


def uses_unknown(frame: Optional[FrameType]) -> bool:
    """Whether the statement that `frame` executes computes with an unknown number."""
    if frame is None or frame.f_code not in _lines:
        return False
    if frame.f_lineno in _lines[frame.f_code]:
        return True
    unknown = _unknown_names(frame.f_code)
    used = {word for node in _statements_at(frame.f_code, frame.f_lineno) for word in _words(node)}
    return any(_is_number(name, frame) for name in used & unknown)


def _is_number(name: str, frame: FrameType) -> bool:
    """Whether a name is one of sizes: of a tensor its own mark says whether its size is known."""
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    return value is None or isinstance(value, (int, float, list, tuple))


def _unknown_names(code: CodeType) -> Set[str]:
    """The names that statements of `code` assign what depends on an unknown number."""
    reads = _lines[code]
    unknown: Set[str] = set()
    count = -1
    while count < len(unknown):
        count = len(unknown)
        for node in _statements(code):
            depends = any(node.lineno <= line <= (node.end_lineno or 0) for line in reads)
            value = getattr(node, "value", None)
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and value is not None:
                if depends or not unknown.isdisjoint(_words(value)):
                    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
                    unknown.update(_words(*filter(None, targets)))
            elif isinstance(node, ast.For) and not unknown.isdisjoint(_words(node.iter)):
                unknown.update(_words(node.target))
    return unknown


_parsed: Dict[str, Optional[ast.Module]] = {}


def _statements(code: CodeType) -> Iterator[ast.stmt]:
    """The statements of the function or module of `code`."""
    path = code.co_filename
    if path not in _parsed:
        try:
            _parsed[path] = ast.parse("".join(linecache.getlines(path)))
        except (SyntaxError, ValueError, RecursionError):
            _parsed[path] = None
    tree = _parsed[path]
    if tree is None:
        return
    scope: Any = tree
    if code.co_name != "<module>":
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                if node.name == code.co_name and code.co_firstlineno in (first, node.lineno):
                    scope = node
    yield from (
        node for node in ast.walk(scope) if isinstance(node, ast.stmt) and node is not scope
    )


def _statements_at(code: CodeType, line: int) -> Iterator[ast.AST]:
    """What the innermost statements at `line` compute; of an assignment the value."""
    found = [
        node
        for node in _statements(code)
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    first = max((node.lineno for node in found), default=0)
    for node in found:
        if node.lineno == first:
            yield getattr(node, "value", None) or node


def _words(*nodes: Any) -> Iterable[str]:
    """The names and attributes in expressions or a statement."""
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part.id
            elif isinstance(part, ast.Attribute):
                yield part.attr
