"""What the facts of kernels without threads tell beside what all facts do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_worker.facts import KernelFacts, Statement

from .test_kernels import TVM, facts_of

pytestmark = pytest.mark.slow


@pytest.fixture(params=TVM)
def kernels(request: pytest.FixtureRequest) -> dict[str, KernelFacts]:
    return {kernel.name: kernel for kernel in facts_of(request.param, "cpu_loops")}


def statements(kernel: KernelFacts) -> Iterator[Statement]:
    return (node for node in walk_nodes(kernel.body) if isinstance(node, Statement))


def test_the_operations_on_the_way_from_what_is_read(kernels: dict[str, KernelFacts]) -> None:
    (leaf,) = statements(kernels["sweep"])
    paths = [(one.buffer, one.path) for one in leaf.accesses if one.mode == "read"]
    assert paths == [
        ("X", ("fma",)),
        ("A", ("fma",)),
        ("A", ("max", "fma")),
        ("X", ("div", "max", "fma")),
        ("A", ("div", "max", "fma")),
    ]


def test_what_is_computed_twice(kernels: dict[str, KernelFacts]) -> None:
    (leaf,) = statements(kernels["squares"])
    assert {one.op: (one.count, one.again) for one in leaf.arith} == {"sub": (2, 1), "mul": (1, 0)}


def test_an_integer_with_a_name_is_stored_and_read(kernels: dict[str, KernelFacts]) -> None:
    name, leaf = statements(kernels["named"])
    assert [(one.buffer, one.mode) for one in name.accesses] == [("k", "write")]
    reads = [one for one in leaf.accesses if one.mode == "read"]
    assert {one.buffer for one in reads} == {"A", "k"}
    # Its value is known all the same.
    assert [one.indices for one in reads if one.buffer == "A"] == [(("+", ("*", "i", 8), "j"),)]
