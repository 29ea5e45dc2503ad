"""The values of calls in indices and guards: expressions of threads, or unknown and of what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ops import values_tilelang, values_tvm
from ops.test_statements import facts_of
from tirlens_counting.expressions import free_variables, simplify, substitute, to_text
from tirlens_worker.facts import Branch, Expr, KernelFacts, Let, Loop, Node, Statement

SETS = [("tilelang-0.1.15", "values_tilelang", values_tilelang),
        ("tvm-0.25.0.post1", "values_tvm", values_tvm),
        ("tvm-0.26.0", "values_tvm", values_tvm),
        ("tvm-0.27.0.post1", "values_tvm", values_tvm)]  # fmt: skip

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("environment_name", "cases", "name"),
    [(env, cases, name) for env, cases, module in SETS for name in module.CASES],
)
def test_values(environment_name: str, cases: str, name: str) -> None:
    module = next(module for _, stem, module in SETS if stem == cases)
    facts = facts_of(environment_name, cases, name)
    assert list(lines(facts.body, facts, {})) == module.CASES[name][1]


def lines(nodes: tuple[Node, ...], facts: KernelFacts, env: dict[str, Expr]) -> Iterator[str]:
    """The conditions and the accesses of global memory, in the order of the program."""
    names = {buffer.id: buffer.name for buffer in facts.buffers if buffer.scope == "global"}
    for node in nodes:
        if isinstance(node, Let):
            env = {**env, node.var: substitute(node.value, env)}
        elif isinstance(node, Loop):
            yield from lines(node.body, facts, env)
        elif isinstance(node, Branch):
            yield f"if {text(node.condition, env)}"
            yield from lines((*node.then, *node.orelse), facts, env)
        elif isinstance(node, Statement):
            for item in node.accesses:
                if item.buffer in names:
                    indices = ", ".join(text(index, env) for index in item.indices)
                    yield f"{item.mode} {names[item.buffer]}[{indices}]"


def text(expr: Expr, env: dict[str, Expr]) -> str:
    """An expression; of an unknown one what it varies with."""
    value = simplify(substitute(expr, env))
    unknown = value
    while isinstance(unknown, tuple) and unknown[0] in ("!=", "=="):
        unknown = unknown[1]
    if not isinstance(unknown, tuple) or unknown[0] != "opaque":
        return to_text(value)
    data = [to_text(part) for part in unknown[2:] if isinstance(part, tuple)]
    return " ".join(["?", *(data or sorted(free_variables(unknown)))])
