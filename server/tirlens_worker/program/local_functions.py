"""Lambdas and functions inside functions as expressions: their code and what they enclose."""

# The values are of other programs and have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Callable, List, Optional, Tuple

_CODE = "[x for x in {}.co_consts if getattr(x, 'co_name', '') == {!r}][{}]"


def outermost_name(function: FunctionType) -> str:
    """The dotted name of the outermost function around `function`; empty if there is none."""
    name, _, inner = function.__qualname__.partition(".<locals>.")
    return name if inner else ""


def expression(
    function: FunctionType, outer: Any, outer_text: str, names: str, text_of: Callable[[Any], str]
) -> Optional[str]:
    """An expression that yields a function like `function`; None if `outer` does not contain it.

    `outer_text` is the expression of `outer`, the outermost function around it, `names` that of
    its global names, and `text_of` gives those of the values that it encloses.
    """
    inner = function.__qualname__.split(".<locals>.")[1:]
    code = getattr(outer, "__code__", None)
    path = _path(code, inner, function.__code__) if isinstance(code, CodeType) else None
    if path is None or function.__kwdefaults__:
        return None
    text = outer_text + ".__code__"
    for name, index in path:
        text = _CODE.format(text, name, index)
    rest = [names, repr(function.__name__)]
    if function.__defaults__ or function.__closure__:
        rest.append(text_of(function.__defaults__))
    if function.__closure__:
        cells = ["__import__('types').CellType({})".format(text_of(_content(cell)))
                 for cell in function.__closure__]  # fmt: skip
        rest.append("({},)".format(", ".join(cells)))
    return "__import__('types').FunctionType({}, {})".format(text, ", ".join(rest))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _path(code: CodeType, inner: List[str], sought: CodeType) -> Optional[List[Tuple[str, int]]]:
    """The names inside `code` that lead to `sought`, each with its number among its equals."""
    if not inner:
        return [] if code is sought else None
    alike = [
        item
        for item in code.co_consts
        if isinstance(item, CodeType) and item.co_name == inner[0]
    ]  # fmt: skip
    for index, item in enumerate(alike):
        rest = _path(item, inner[1:], sought)
        if rest is not None:
            return [(inner[0], index), *rest]
    return None
