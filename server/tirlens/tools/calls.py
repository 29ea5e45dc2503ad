"""The calls that requests may ask for: of a kernel, with plain values.

A call is evaluated in the module of its file. A request may therefore name values, and may not
compute them: what is executed is the text of the file, not the text of a request.
"""

from __future__ import annotations

import ast

from tirlens import array_words
from tirlens.tools.errors import ToolError

_LONGEST = 2000
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div)
_VALUES = (ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Load, ast.UnaryOp, ast.USub)
_EXAMPLE = "matmul(4096, 4096, 4096, block_M=128)"


def check_call(text: str, argument: str = "call") -> None:
    """Check that `text` calls a function by name with plain values.

    Raises
    ------
    ToolError
        It is something else.
    """
    wrong = ToolError(
        "argument",
        f"{argument} {text!r:.200} must call a kernel of the file by its name, with numbers, "
        "texts, names, lists, or arrays such as 1024x1024 float16 as arguments.",
        {argument: _EXAMPLE},
    )
    if len(text) > _LONGEST:
        raise wrong
    try:
        # Arrays in words become calls of torch later, which no request may write itself.
        plain = ast.parse(array_words.without_arrays(text.strip(), "0"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong from None
    if not isinstance(plain, ast.Call):
        raise wrong
    function: ast.expr = plain
    while isinstance(function, (ast.Call, ast.Attribute)):
        if isinstance(function, ast.Call):
            arguments = (*function.args, *(keyword.value for keyword in function.keywords))
            if not all(map(_is_plain, arguments)):
                raise wrong
            function = function.func
        else:
            if function.attr.startswith("_"):
                raise wrong
            function = function.value
    if not isinstance(function, ast.Name) or function.id.startswith("__"):
        raise wrong


def check_value(text: str, argument: str) -> None:
    """Check that `text` is a plain value, as arguments of a call are.

    Raises
    ------
    ToolError
        It is something else.
    """
    try:
        is_plain = len(text) <= _LONGEST and _is_plain(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        is_plain = False
    if not is_plain:
        raise ToolError(
            "argument",
            f"{argument}: {text!r:.200} is no plain value. Send numbers, texts or names.",
        )


def _is_plain(value: ast.expr) -> bool:
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute):
            if node.attr.startswith("_"):
                return False
        elif isinstance(node, ast.BinOp):
            if not isinstance(node.op, _OPERATORS):
                return False
        elif not isinstance(node, (*_VALUES, *_OPERATORS)):
            return False
    return True
