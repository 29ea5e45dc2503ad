"""Calls of a kernel with the values of a configuration."""

from __future__ import annotations

import ast

from tirlens.source import KernelSource
from tirlens.tuning.configurations import Arguments

# A key of tilelang's configurations that is no parameter: options of the compilation.
PASS_CONFIGS = "pass_configs"


class CallError(ValueError):
    """A call cannot be given the values of a configuration."""


def with_arguments(call: str, kernel: KernelSource, arguments: Arguments) -> str:
    """The call `call` of a kernel with the parameters in `arguments` given these values.

    Raises:
        CallError: the expression is no call of the kernel itself, or the kernel has no such
            parameter.
    """
    try:
        tree = ast.parse(call.strip(), mode="eval").body
    except SyntaxError as error:
        raise CallError(f"{call}: {error.msg}") from None
    if not isinstance(tree, ast.Call) or any(isinstance(a, ast.Starred) for a in tree.args):
        raise CallError(f"{call} is no call to which the values of a configuration can be added")
    called = tree.func.attr if isinstance(tree.func, ast.Attribute) else ast.unparse(tree.func)
    if called not in (kernel.name.rpartition(".")[2], "specialize"):
        raise CallError(f"{call} does not call {kernel.name} itself; --call gives it one")
    left = {name: value for name, value in arguments.items() if name != PASS_CONFIGS}
    known = dict.fromkeys((*kernel.parameters, *names_given(call)))
    for name in left:
        if kernel.parameters and name not in known:
            raise CallError(f"{kernel.name} has no parameter {name}; there are: {', '.join(known)}")
    for position, name in enumerate(kernel.parameters[: len(tree.args)]):
        if name in left:
            tree.args[position] = _expression(left.pop(name))
    for keyword in tree.keywords:
        if keyword.arg in left:
            keyword.value = _expression(left.pop(keyword.arg))
    tree.keywords += [ast.keyword(name, _expression(value)) for name, value in left.items()]
    return ast.unparse(tree)


def names_given(call: str) -> tuple[str, ...]:
    """The arguments that a call gives by name: the sizes of an eager kernel are no parameters."""
    tree = ast.parse(call.strip(), mode="eval").body
    keywords = tree.keywords if isinstance(tree, ast.Call) else []
    return tuple(one.arg for one in keywords if one.arg is not None)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
