"""tilelang's rewriting with fewer visits makes the same trees, with the same positions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.environments import environment
from support.workers import TILELANG

pytestmark = pytest.mark.slow

SERVER = Path(__file__).parents[2] / "server"
FUNCTIONS = '''
def loops(A, B, n):
    """All that is rewritten in a way of its own."""
    A: T.Tensor((n,), "float32")
    for i in range(n):
        if i > 2 and not A[i]:
            continue
        elif i == 1 or -i < +n <= 4:
            break
        else:
            for j, k in T.grid(2, 3):
                A[i + j], B[k] = B[k], A[j]
    while n:
        n -= 1
        A[n] += B[n] * (1.0 if n else 2.0)
    first = second = [x for x in range(3) if x]
    with T.Kernel(1) as bx, other():
        assert bx, "\u00e9tat"
        value: T.int32 = f"{bx:>4}" if bx else None
        (a, (b, A[0])) = value
    lambda: (yield)
    return {key: None for key in first}


def empty():
    pass
'''
PROGRAM = """
import ast, hashlib, json, sys
from pathlib import Path
import tilelang.language as T
import tilelang.language.eager.ast as syntax
library = sorted(map(str, Path(T.__file__).parent.glob("*.py")))
if {patched}:
    sys.path.insert(0, {server!r})
    from tirlens_worker.frameworks import fast_syntax_trees
    fast_syntax_trees.install(syntax)
    assert syntax.quote is fast_syntax_trees.quote
found = []
for path in [*sys.argv[1:], *library]:
    text = Path(path).read_text()
    lines = [n.lineno for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    for line in lines:
        tree = ast.parse(text)
        tree.body = [n for n in ast.walk(tree) if getattr(n, "name", "") and n.lineno == line][:1]
        try:
            tree = syntax.DSLMutator(dict(T=T), dict(T=T), path).visit(tree)
            syntax.utils.ast.fix_missing_locations(tree)
            code = compile(tree, path, "exec")
            positions = list(map(list, code.co_consts[0].co_positions()))
            text_of_tree = ast.dump(tree, include_attributes=True)
            found.append([hashlib.sha256(text_of_tree.encode()).hexdigest(), positions])
        except Exception as error:
            found.append(str(error))
print(json.dumps(found))
"""


def _trees(file: Path, patched: bool) -> list[Any]:
    program = PROGRAM.format(patched=patched, server=str(SERVER))
    answer = subprocess.run(
        [str(environment(TILELANG)), "-c", program, str(file)],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def test_the_trees_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    plain = _trees(tmp_path / "functions.py", False)
    assert _trees(tmp_path / "functions.py", True) == plain
    # Many of the functions are those of tilelang's own library.
    assert len(plain) > 100
    rewritten = [item for item in plain if isinstance(item, list)]
    assert plain[0] in rewritten and len(rewritten) > len(plain) / 2
