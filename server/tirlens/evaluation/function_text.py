"""A function inside another as a lambda, with the values that it encloses written into it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tirlens.evaluation.operations import UnknownValueError
from tirlens.evaluation.values import FunctionNode

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)


def lambda_text(node: FunctionNode, text_of_name: Callable[[ast.Name], str]) -> str:
    """A lambda that computes what a lambda, or a function with one ``return``, computes.

    Parameters
    ----------
    node
        The function. What contains another function, or binds a name, is not written.
    text_of_name
        The value of a name that the function does not bind, as source text.

    Raises:
        UnknownValueError: the function has other statements, or a name has no text.
    """
    # A copy, whose names are replaced.
    body = ast.parse(ast.unparse(_result(node)), mode="eval").body
    if any(isinstance(item, _SCOPES) for item in ast.walk(body)):
        raise UnknownValueError("a function that binds names")
    parameters = ast.parse(f"lambda {_parameters(node.args)}: 0", mode="eval").body
    assert isinstance(parameters, ast.Lambda)
    defaults = _Names(frozenset(), text_of_name)
    parameters.args.defaults = [defaults.visit(item) for item in parameters.args.defaults]
    parameters.args.kw_defaults = [
        None if item is None else defaults.visit(item) for item in parameters.args.kw_defaults
    ]
    bound = frozenset(item.arg for item in ast.walk(parameters.args) if isinstance(item, ast.arg))
    parameters.body = _Names(bound, text_of_name).visit(body)
    return f"({ast.unparse(parameters)})"


def _result(node: FunctionNode) -> ast.expr:
    if isinstance(node, ast.Lambda):
        return node.body
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return body[0].value
    raise UnknownValueError("a function of several statements")


def _parameters(given: ast.arguments) -> str:
    """The parameters without their annotations, which a lambda cannot have."""
    copy = ast.parse(f"def f({ast.unparse(given)}): ...").body[0]
    assert isinstance(copy, ast.FunctionDef)
    for item in ast.walk(copy.args):
        if isinstance(item, ast.arg):
            item.annotation = None
    return ast.unparse(copy.args)


class _Names(ast.NodeTransformer):
    """Replaces names by the texts of their values."""

    def __init__(self, bound: frozenset[str], text_of_name: Callable[[ast.Name], str]) -> None:
        self._bound = bound
        self._text_of_name = text_of_name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._bound:
            return node
        return ast.parse(self._text_of_name(node), mode="eval").body
