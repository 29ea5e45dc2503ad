"""The walk over statements finds what a walk over all nodes finds, in the same order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tirlens_worker.statements import walk_statements

SERVER = Path(__file__).parents[2] / "server"
ALL_KINDS = """
try:
    with a as b:
        def f(): return lambda: 0
except E:
    async def g():
        async for i in h:
            await i
        else:
            async with j: pass
else:
    while k: break
    else: l = 1
finally:
    class M:
        @d
        def n(self): pass
match o:
    case [1, x] if x:
        if x: import p
        elif y: from . import q
        else: raise
"""


def _statements(nodes: list[ast.AST]) -> list[ast.AST]:
    return [node for node in nodes if isinstance(node, ast.stmt)]


@pytest.mark.parametrize("path", [*sorted(SERVER.rglob("tirlens*/tracing/*.py")), None], ids=str)
def test_all_statements_in_the_same_order(path: Path | None) -> None:
    text = ALL_KINDS if path is None else path.read_text()
    tree = ast.parse(text)
    found = list(walk_statements(tree))
    assert _statements(found) == _statements(list(ast.walk(tree)))
    assert tree.body and len(found) > 1
    for node in _statements(found):
        assert _statements(list(walk_statements(node))) == _statements(list(ast.walk(node)))
