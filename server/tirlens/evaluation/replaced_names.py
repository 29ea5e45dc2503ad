"""The functions that a test replaces by others: by mocks, stubs, or pytest's ``monkeypatch``.

A test calls none of them, and no kernel that is launched behind them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.syntax_trees import walk

_REPLACE = ("setattr", "object", "patch")


def replaced_names(function: ast.AST) -> frozenset[str]:
    """The names that a test or a fixture, with its decorators, gives to other functions.

    ``monkeypatch.setattr(module, "run", fake)`` does, also with ``"package.run"``,
    ``mock.patch("package.run")`` and ``patch.object(module, "run")``, and the assignment of a mock
    (``module.run = MagicMock()``).
    """
    return frozenset(name for node in walk(function) for name in _names_of(node))


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _last_name(node.func) in _REPLACE:
        texts = [
            item.value
            for item in node.args[:2]
            if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        yield from (text.rpartition(".")[2] for text in texts[:1])
    elif (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _last_name(node.value.func).endswith("Mock")
    ):
        yield from (item.attr for item in node.targets if isinstance(item, ast.Attribute))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
