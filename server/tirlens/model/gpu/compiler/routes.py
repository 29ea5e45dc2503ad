"""The routes of statements: what tilelang makes of copies, products and pipelined loops.

Where a kernel is lowered for the device, its lowered code says.  Elsewhere these are tilelang's own
rules.  Only loops of `T.Pipelined` with at least one stage load by TMA or cp.async.  A loop with a
``T.copy`` that TMA takes is divided into warps that load and warps that compute; the former execute
all that stores to shared memory what it reads from global memory
(``src/cuda/transform/producer_consumer_ws.cc``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Branch, Copy, Gemm, KernelFacts, Mma

from ...tree.compiled import Instructions
from ...tree.node import CostNode, Leaf, LoopCost
from ...tree.route import NO_ROUTE, Route
from ...tree.table import Table
from .copy_routes import can_use_tma, load_route, store_route, written_route
from .product_routes import product_route
from .routed_kernel import NO_GUARD, NO_PIPELINE, Guard, Pipeline, RoutedKernel


def choose_routes(
    nodes: Sequence[CostNode],
    instructions: Table[Instructions],
    facts: KernelFacts,
    device: Device,
) -> Table[Route]:
    """The route of each statement of a kernel on a device.

    Parameters
    ----------
    nodes
        The body of the kernel.
    instructions
        The instructions of its statements.
    facts
        The kernel, with its lowered code where it is lowered for the device.
    device
        The device.
    """
    lowered = facts.lowered_for(device.arch)
    kernel = RoutedKernel(facts, device, lowered, facts.ids_by_name(), instructions)
    return Table(_route_leaves(nodes, kernel, NO_PIPELINE, NO_GUARD))


def written_stages(loop: LoopCost) -> int:
    """The stages that the source of a pipelined loop asks for; 0 for any other loop."""
    stages = loop.source.annotations.get("num_stages", 0)
    return stages if loop.source.kind == "pipelined" and isinstance(stages, int) else 0


def buffers_ahead(node: CostNode, routes: Table[Route]) -> int:
    """The most buffers that the loop of a node fills ahead of their use; 0 where it does not."""
    inside = (routes[leaf] for leaf in node.leaves())
    return max((route.buffers for route in inside if route.is_ahead), default=0)


def has_tma_producer(leaves: Iterable[Leaf], routes: Table[Route]) -> bool:
    """Whether warps of their own load tiles by TMA."""
    return any(routes[leaf].is_producers and routes[leaf].copy == "tma" for leaf in leaves)


def _route_leaves(
    nodes: Sequence[CostNode], kernel: RoutedKernel, pipeline: Pipeline, guard: Guard
) -> Iterator[Route]:
    for node in nodes:
        if isinstance(node, Leaf):
            yield _route(node, kernel, pipeline, guard)
        elif isinstance(node, LoopCost) and node.source.kind == "pipelined":
            stages = written_stages(node)
            inner = Pipeline(stages, stages > 0 and _is_divided(node, kernel))
            body = _guarded_body(node) if inner.is_divided else node.children
            yield from _route_leaves(body, kernel, inner, NO_GUARD)
        else:
            yield from _route_leaves(node.children, kernel, pipeline, guard.inside(node))


def _guarded_body(loop: CostNode) -> Sequence[CostNode]:
    """The statements of a loop, or of the one branch without another side that is its body."""
    children = loop.children
    if len(children) == 1 and isinstance(children[0].source, Branch):
        return children if children[0].source.orelse else children[0].children
    return children


def _is_divided(loop: LoopCost, kernel: RoutedKernel) -> bool:
    """Whether tilelang divides the warps of a pipelined loop into a producer and consumers."""
    if not kernel.is_tilelang or not kernel.has_tma:
        return False
    if kernel.facts.attributes.get("warp_specialized") is False:
        return False
    return any(isinstance(node, Leaf) and can_use_tma(node, kernel) for node in _guarded_body(loop))


def _route(leaf: Leaf, kernel: RoutedKernel, pipeline: Pipeline, guard: Guard) -> Route:
    source = leaf.source
    if isinstance(source, Gemm):
        return product_route(leaf, source, kernel)
    if isinstance(source, Mma):
        return Route(instruction=source.instruction)
    if isinstance(source, Copy) and any(one.route == "tma" for one in source.accesses):
        return Route("tma")
    if not kernel.is_tilelang:
        return written_route(leaf, pipeline)
    if isinstance(source, Copy) and leaf.write_bytes:
        return store_route(leaf, kernel)
    if not leaf.read_bytes or leaf.source.per != "block":
        return NO_ROUTE
    return load_route(leaf, kernel, pipeline, guard)
