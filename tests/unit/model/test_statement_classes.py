"""What the fields of statements say of time and registers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, launched, leaves, modelled
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.block.exposed_latency import exposed_latency_s
from tirlens.model.tree.traits import ORDERED, some
from tirlens_worker.facts import (
    Access,
    Annotate,
    Barrier,
    BarrierKind,
    Buffer,
    Load,
    Loop,
    Node,
)

H100 = load("h100-sxm")
DIVIDE, KEEP, OTHER = (
    Annotate("", register_request="divide"),
    Annotate("", register_request="keep"),
    Annotate("T.setmaxnreg()"),
)


@pytest.mark.parametrize(("kind", "clocks"), [("wait", 30), ("arrive", 5), ("wgmma", 0)])
def test_what_a_synchronisation_takes(kind: BarrierKind, clocks: float) -> None:
    facts = launched((Barrier("T.barrier_arrive()", kind=kind),), (), blocks=1)
    kernel = modelled(facts, H100)
    latency_s = exposed_latency_s(kernel.leaves[0], kernel.context, executions=1.0)
    assert latency_s * H100.clock_hz == pytest.approx(clocks)


@pytest.mark.parametrize("is_read_only", [False, True])
def test_only_a_load_of_what_nothing_writes_moves_over_stores(is_read_only: bool) -> None:
    array = Buffer("A", "A.nc", "float32", (128,), is_parameter=True)
    read = Access("A", "read", ("tx",))
    loads = Load("T.ptx.ld.global.nc.f32()", accesses=(read,), read_only=is_read_only)
    (leaf,) = leaves(launched((loads,), (array,)))
    assert some(leaf, ORDERED) is not is_read_only


def registers(*first: Node) -> int:
    """Registers of a thread of a product without a pipeline, whose block begins with `first`."""

    def begin(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        (node,) = nodes
        assert isinstance(node, Loop)
        inner = node.body if node.kind == "block" else None
        body = begin(node.body) if inner is None else (*first, *inner)
        return (replace(node, body=body),)

    facts = gemm(stages=0)
    found = analyze(replace(facts, body=begin(facts.body)), H100).registers_per_thread
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("requests", "is_divided"),
    [((DIVIDE,), True), ((DIVIDE, KEEP), False), ((KEEP,), False), ((OTHER,), False)],
)
def test_warps_hand_on_registers_where_they_are_asked_to(
    requests: tuple[Annotate, ...], is_divided: bool
) -> None:
    assert (registers(*requests) > registers()) is is_divided
