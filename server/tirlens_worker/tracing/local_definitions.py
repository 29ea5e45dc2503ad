"""Kernels defined in a function: their definitions, executed apart from the function."""

from __future__ import annotations

import ast
from typing import Any, Dict, NamedTuple, Tuple

from ..program import execution, load
from ..program.document import Definition
from ..protocol import KernelRequest
from .kernels import NoKernelError


class LocalDefinition(NamedTuple):
    """The value of a definition in a function, its name, and the names of the function.

    `inner` is the call of the kernel in the function as text, empty if it is not called.
    """

    value: Any
    name: str
    namespace: Dict[str, Any]
    inner: str


def define(loaded: load.Loaded, request: KernelRequest, expression: str) -> LocalDefinition:
    """Execute the definition of the local kernel of `request`, and what it depends on.

    `expression` calls the function that has the definition, and may call the kernel in it.

    Raises:
        NoKernelError: the definition was not found.
        BaseException: the error of the user's code.
    """
    namespace = dict(loaded.namespace)
    around, inner = _split_call(expression)
    for keyword in getattr(around, "keywords", ()):
        code = compile(ast.Expression(keyword.value), "<{}>".format(expression), "eval")
        namespace[keyword.arg] = execution.value_of(code, namespace)
    for span in request.prelude:
        statement = loaded.document.statement_at(span)
        if statement is not None:
            load.execute(loaded, statement, namespace)
    definition = request.definition and loaded.document.statement_at(request.definition)
    if not isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
        raise NoKernelError("the definition of {} was not found".format(request.name))
    value = _define_nested(loaded, request, definition, namespace)
    namespace[definition.name] = value
    return LocalDefinition(value, definition.name, namespace, inner)


def _define_nested(
    loaded: load.Loaded, request: KernelRequest, definition: Definition, namespace: Dict[str, Any]
) -> Any:
    """Execute `definition` inside empty copies of the functions and classes that enclose it.

    It then has its qualified name, by which TVM's parser finds its source.
    """
    statement, reach = definition, definition.name
    around = loaded.document.definitions_along(request.local_to or "", request.span.line)
    for node in reversed(around):
        is_function = isinstance(node, ast.FunctionDef)
        form = "def x():\n return {}" if is_function else "class x:\n {}"
        enclosing: Any = ast.parse(form.format(reach)).body[0]
        for part in ast.walk(enclosing):
            ast.copy_location(part, definition)
        enclosing.name = node.name
        enclosing.body[: 0 if is_function else 1] = [statement]
        statement = enclosing
        reach = node.name + "()" if is_function else "{}.{}".format(node.name, reach)
    local_names: Dict[str, Any] = {}
    load.execute(loaded, statement, namespace, local_names)
    return execution.value_of(reach, namespace, local_names)


def _split_call(expression: str) -> Tuple[ast.expr, str]:
    """The call of the function around a local kernel, and that of the kernel in it as text.

    ``test_add(n=4).scale(256, 128)`` is ``scale(256, 128)`` in ``test_add(n=4)``. The text is empty
    where the expression ends before.
    """
    text = expression.strip()
    node = around = ast.parse(text, mode="eval").body
    while isinstance(node, (ast.Call, ast.Attribute)):
        if isinstance(node, ast.Call):
            around = node
        node = node.func if isinstance(node, ast.Call) else node.value
    end: Any = getattr(around, "end_col_offset", None)
    return around, text.encode()[end:].decode().lstrip(".")
