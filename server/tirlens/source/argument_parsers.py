"""The values of argparse options in a program that is started without arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.source.scopes import Frame
from tirlens.source.values import Arguments

PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")


def option_defaults(parser: ast.expr, frame: Frame) -> Arguments:
    """What ``parser.parse_args()`` gives: the defaults of its ``add_argument`` calls."""
    names = _groups(frame)
    if isinstance(parser, ast.Name):
        names.add(parser.id)
    defaults: dict[str, ast.expr | None] = {}
    for node in _statements(frame.body):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in names
        ):
            destination, default = _option(node)
            defaults[destination] = default
    return Arguments(defaults)


def _statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from ast.walk(statement)


def _groups(frame: Frame) -> set[str]:
    """Names bound to argument groups of a parser (``group = parser.add_argument_group()``)."""
    return {
        name
        for name, found in frame.bindings.items()
        for item in found
        if isinstance(item.value, ast.Call)
        and isinstance(item.value.func, ast.Attribute)
        and item.value.func.attr.startswith("add_")
    }


def _option(call: ast.Call) -> tuple[str, ast.expr | None]:
    """The destination and default of one ``add_argument`` call."""
    flags = [
        item.value
        for item in call.args
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    destination = named.get("dest")
    name = long.lstrip("-").replace("-", "_")
    if isinstance(destination, ast.Constant):
        name = str(destination.value)
    default = named.get("default")
    action = named.get("action")
    if default is None and isinstance(action, ast.Constant):
        if action.value == "store_true":
            default = ast.Constant(False)
        elif action.value == "store_false":
            default = ast.Constant(True)
    return name, default
