"""The model's counts of real IR against the interpreter's: every case of every framework."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from ops import cases_tilelang, cases_tir, cases_tvm
from ops.test_statements import facts_of
from support.counts import count
from support.interpreter import run
from tirlens.model.counting.kernel_counts import NodeCount

SETS = [
    ("tilelang-0.1.15", "cases_tilelang", cases_tilelang),
    ("tvm-0.27.0.post1", "cases_tvm", cases_tvm),
    ("tvm-0.27.0.post1", "cases_tir", cases_tir),
]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("environment_name", "cases", "name"),
    [(env, cases, name) for env, cases, module in SETS for name in module.CASES],
)
def test_model_and_interpreter_agree(environment_name: str, cases: str, name: str) -> None:
    facts = facts_of(environment_name, cases, name)
    executed = run(facts, {}, unknown=1)
    operations: Counter[tuple[str, str]] = Counter()
    issued: Counter[tuple[str, str]] = Counter()
    for node in nodes(count(facts, {}).root):
        for arith in node.arith:
            assert arith.total is not None
            operations[arith.arith.op, arith.arith.dtype] += arith.total
        for access in node.accesses:
            assert access.bytes is not None
            issued[access.access.buffer, access.access.mode] += access.bytes * 8
    assert +operations == +executed.operations
    assert +issued == +executed.bits
    assert operations or issued


def nodes(trees: tuple[NodeCount, ...]) -> Iterator[NodeCount]:
    for tree in trees:
        yield tree
        yield from nodes(tree.children)
