"""Real IR of one operation a kernel against the statements written beside its source."""

from __future__ import annotations

from dataclasses import fields

import pytest

from equality.process import TESTS, cases_of
from ops import cases_tilelang, cases_tvm
from tirlens_counting.expressions import to_text
from tirlens_worker.codec import from_json
from tirlens_worker.facts import Branch, KernelFacts, Let, Loop, Statement

MODULES = {"cases_tilelang": cases_tilelang, "cases_tvm": cases_tvm}
SETS = [
    ("tilelang-0.1.15", "cases_tilelang"),
    ("tvm-0.27.0.post1", "cases_tvm"),
]

SHARED = {item.name for item in fields(Statement)}

pytestmark = pytest.mark.slow


def facts_of(environment_name: str, cases: str, name: str) -> KernelFacts:
    """The facts of a case."""
    built = cases_of(environment_name, TESTS / f"ops/{cases}.py", execute=False)
    return from_json(KernelFacts, built[name]["facts"])


@pytest.mark.parametrize(
    ("environment_name", "cases", "name"),
    [(env, cases, name) for env, cases in SETS for name in MODULES[cases].CASES],
)
def test_statements(environment_name: str, cases: str, name: str) -> None:
    facts = facts_of(environment_name, cases, name)
    assert [describe(item, facts) for item in statements(facts.body)] == MODULES[cases].CASES[name][
        1
    ]


def statements(nodes):
    for node in nodes:
        if isinstance(node, Statement):
            yield node
        elif isinstance(node, Loop):
            yield from statements(node.body)
        elif isinstance(node, Branch):
            yield from statements((*node.then, *node.orelse))
        else:
            assert isinstance(node, Let)


def describe(statement: Statement, facts: KernelFacts) -> str:
    names = {buffer.id: buffer.name for buffer in facts.buffers}
    arith = ", ".join(map(operation, statement.arith))
    accesses = ", ".join(moved(item, names) for item in statement.accesses)
    told = "".join(f"; {signalled(item, names)}" for item in statement.signals if item.barrier)
    return f"{statement.display_name} {statement.per}: {arith}; {accesses}{told}{own(statement)}"


def own(statement: Statement) -> str:
    """The fields that statements of other classes do not have, where they are not the default."""
    return "".join(
        f"; {item.name}={value}"
        for item in fields(statement)
        if item.name not in SHARED and (value := getattr(statement, item.name)) != item.default
    )


def operation(item) -> str:
    to = f"->{item.accumulator}" if item.accumulator else ""
    sparsity = f" sparsity {item.sparsity}" if item.sparsity != 1 else ""
    return f"{item.count} x {item.op} {item.dtype}{to}{sparsity}"


def signalled(item, names) -> str:
    parity = "" if item.parity is None else f" parity {item.parity}"
    guard = "" if item.guard is None else f" if {to_text(item.guard)}"
    return f"{item.kind} {names[item.barrier]}[{item.index}]{parity}{guard}"


def moved(item, names) -> str:
    size = item.extents or ((item.lanes,) if item.lanes > 1 else ())
    clipped = " clipped" if item.clipped else ""
    extents = ",".join(map(str, size))
    return f"{item.mode} {names[item.buffer]}[{extents}] {item.route}{clipped}"
