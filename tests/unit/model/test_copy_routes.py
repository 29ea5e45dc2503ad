"""What tilelang makes of the loads of a pipelined loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, modelled, tile
from tirlens.hardware import load
from tirlens_worker.facts import (
    Buffer,
    KernelFacts,
    Loop,
    LoweredLaunch,
    LoweredRoutes,
    Node,
    TileLoad,
)


def with_copy_to(scope: str) -> KernelFacts:
    """A product in a loop of three stages, which also copies its tile of A elsewhere."""
    facts = gemm(stages=3)
    at = {"A": (("*", "by", 128), ("*", "k", 64))}

    def inside(node: Node) -> Node:
        assert isinstance(node, Loop)
        if node.kind == "pipelined":
            return replace(node, body=(*node.body, tile("A", "T", (128, 64), at, 9)))
        body = tuple(inside(one) if isinstance(one, Loop) else one for one in node.body)
        return replace(node, body=body)

    buffers = (*facts.buffers, Buffer("T", "T", "float16", (128, 64), scope))
    return replace(facts, buffers=buffers, body=tuple(map(inside, facts.body)))


@pytest.mark.parametrize(
    ("device", "scope", "copy", "buffers", "lost"),
    [
        ("h100-sxm", "shared.dyn", "tma", 3, ""),
        ("a100-80-sxm", "shared.dyn", "async", 3, ""),
        # Registers have no stages; what goes elsewhere is no tile of the loop.
        ("h100-sxm", "local.fragment", "thread", 1, "a copy to registers has one buffer"),
        ("a100-80-sxm", "local.fragment", "thread", 1, "a copy to registers has one buffer"),
        ("h100-sxm", "global", "thread", None, ""),
        ("t4", "shared.dyn", "thread", 3, "has no asynchronous copies"),
    ],
)
def test_routes_of_copies(
    device: str, scope: str, copy: str, buffers: int | None, lost: str
) -> None:
    kernel = modelled(with_copy_to(scope), load(device))
    (leaf,) = (one for one in kernel.leaves if one.source.label == "T.copy(A, T)")
    route = kernel.context.compiled.routes[leaf]
    assert route.copy == copy
    assert lost in route.lost and bool(route.lost) == bool(lost)
    if buffers is not None:
        assert route.buffers == buffers


@pytest.mark.parametrize(
    ("stages", "route", "copy", "is_ahead", "lost"),
    [
        (3, "tma", "tma", True, ""),
        (3, "async", "async", True, ""),
        # What the threads copy themselves comes in its own iteration, and the loop says so.
        (3, "thread", "thread", False, "3 stages: tilelang 0.1.15 makes loads and stores of it"),
        # A loop without stages has nothing that it could lose.
        (0, "tma", "tma", False, ""),
        (0, "thread", "thread", False, ""),
    ],
)
def test_routes_of_lowered_loads(
    stages: int, route: str, copy: str, is_ahead: bool, lost: str
) -> None:
    facts = gemm(stages=stages)
    loads = (TileLoad("A", "A_shared", route), TileLoad("B", "B_shared", route))
    launch = LoweredLaunch("sm_90", 128, 1 << 16, routes=LoweredRoutes(loads))
    kernel = modelled(replace(facts, lowered=(launch,)), load("h100-sxm"))
    found = [
        kernel.context.compiled.routes[leaf]
        for leaf in kernel.leaves
        if leaf.source.label in ("T.copy(A, As)", "T.copy(B, Bs)")
    ]
    assert len(found) == 2
    for one in found:
        assert (one.copy, one.is_ahead, one.lost) == (copy, is_ahead, lost)
        assert bool(one.buffers) == bool(stages)
