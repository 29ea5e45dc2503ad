"""``--sweep NAME=V1,V2,...``: the calls of every combination of some arguments."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from tirlens.cli.errors import UsageError


def sweep_calls(calls: Sequence[str], sweeps: Sequence[str]) -> Iterator[str]:
    """Each of `calls` with the arguments of each combination of `sweeps` set by name.

    Raises:
        UsageError: there is no call to set them in, or a sweep is of another form.
    """
    if not calls:
        raise UsageError("--sweep sets arguments of a --call, and there is none")
    axes = [_axis(text) for text in sweeps]
    for call in calls:
        for values in itertools.product(*(axis for _, axis in axes)):
            yield _with(call, dict(zip((name for name, _ in axes), values, strict=True)))


def _axis(text: str) -> tuple[str, list[ast.expr]]:
    name, equals, values = text.partition("=")
    try:
        parsed = ast.parse(f"[{values}]", mode="eval").body
        assert isinstance(parsed, ast.List)
        for item in parsed.elts:
            ast.literal_eval(item)
    except (SyntaxError, ValueError, AssertionError):
        parsed = None
    if not equals or not name.strip().isidentifier() or parsed is None or not parsed.elts:
        raise UsageError(f"--sweep {text!r}: expected NAME=V1,V2,... such as block_M=64,128")
    return name.strip(), parsed.elts


def _with(call: str, values: dict[str, ast.expr]) -> str:
    tree = ast.parse(call.strip(), mode="eval").body
    if not isinstance(tree, ast.Call):
        raise UsageError(f"--call {call!r} is no call such as 'matmul(1024, 1024)'")
    others = [keyword for keyword in tree.keywords if keyword.arg not in values]
    tree.keywords = [*others, *(ast.keyword(name, value) for name, value in values.items())]
    return ast.unparse(tree)
