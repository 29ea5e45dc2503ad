"""What tilelang makes of the loads of a pipelined loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, modelled, tile
from tirlens.hardware import load
from tirlens_worker.facts import Buffer, KernelFacts, Loop, Node


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
