"""The edit that makes a configuration the defaults of its kernel."""

from __future__ import annotations

import ast

from tirlens.source import KernelSource
from tirlens.source.edits import Replacement
from tirlens.source.parse import parse
from tirlens.syntax_trees import FunctionNode
from tirlens.tuning.calls import PASS_CONFIGS
from tirlens.tuning.configurations import Arguments
from tirlens.tuning.stages import called_function


def default_edits(
    text: str, kernel: KernelSource, arguments: Arguments
) -> tuple[Replacement, ...] | None:
    """The replacements of defaults in `text` by the values of `arguments`.

    None where one of them is no parameter with a default.
    """
    read = parse(text)
    function = called_function(read, kernel)
    defaults = {} if function is None else defaults_of(function)
    found: list[Replacement] = []
    for name, value in arguments.items():
        if name == PASS_CONFIGS:
            continue
        default = defaults.get(name)
        if default is None:
            return None
        if ast.unparse(default) != value:
            title = f"{name}={value} in place of {ast.unparse(default)}"
            found.append(Replacement(read.span(default), value, title))
    return tuple(found)


def defaults_of(function: FunctionNode) -> dict[str, ast.expr]:
    """The defaults of the parameters that have one."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    found = dict(zip((one.arg for one in with_default), arguments.defaults, strict=True))
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            found[one.arg] = default
    return found
