"""What the lines of a kernel became on the device, what they lost on the way, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tirlens_worker.facts import Copy, Gemm, Mma, Store

from ..gpu.compiler.product_routes import instruction_name
from ..gpu.compiler.routes import buffers_ahead, written_stages
from ..report import CaveatNote
from ..tree.node import CostNode, Leaf, LoopCost
from ..tree.route import CopyRoute, Route
from ..tree.table import Table

_COPY_NAMES: Mapping[CopyRoute, str] = {
    "tma": "TMA",
    "async": "cp.async",
    "lds": "global_load_lds",
    "thread": "loads and stores of threads",
}


class Path(NamedTuple):
    """What a line became, and what of its source it did not become, with the reason."""

    became: tuple[str, ...] = ()
    lost: str = ""


NO_PATH = Path()


def path_of(node: CostNode, routes: Table[Route] | None) -> Path:
    """The path of a statement or loop; `NO_PATH` where there is nothing to say."""
    if routes is None:
        return NO_PATH
    if isinstance(node, Leaf):
        return _statement_path(node, routes[node])
    if isinstance(node, LoopCost) and written_stages(node):
        return _loop_path(node, routes)
    return NO_PATH


def lost_notes(nodes: Sequence[CostNode], routes: Table[Route]) -> Iterator[CaveatNote]:
    """A caveat at each product and pipelined loop that is not what its source asks for."""
    found: dict[CaveatNote, None] = {}
    for node in _walk(nodes):
        if isinstance(node, Leaf) and not isinstance(node.source, (Gemm, Mma)):
            continue
        path = path_of(node, routes)
        if path.lost:
            text = f"{', '.join(path.became)}; lost {path.lost}"
            found[CaveatNote(text, next(iter(node.source.sites), None))] = None
    yield from found


def _walk(nodes: Sequence[CostNode]) -> Iterator[CostNode]:
    for node in nodes:
        yield node
        yield from _walk(node.children)


def _statement_path(leaf: Leaf, route: Route) -> Path:
    if route.instruction is not None:
        return Path((instruction_name(route.instruction),), route.lost)
    if route.copy is None or not isinstance(leaf.source, (Copy, Store)):
        return NO_PATH
    parts = [_copy_name(leaf, route.copy)]
    if route.buffers:
        parts.append(_buffers_text(route.buffers))
    if route.is_producers:
        parts.append("by the producer warps")
    return Path(tuple(parts), route.lost)


def _loop_path(loop: LoopCost, routes: Table[Route]) -> Path:
    """The path of a pipelined loop: its buffers, how they are filled, and what has none."""
    copies = [(leaf, routes[leaf]) for leaf in loop.leaves()]
    copies = [(leaf, route) for leaf, route in copies if route.copy and route.buffers]
    names = sorted({_copy_name(leaf, route.copy) for leaf, route in copies if route.copy})
    ahead = buffers_ahead(loop, routes)
    became = (_buffers_text(ahead) if ahead else "not pipelined", *names)
    reasons = dict.fromkeys(route.lost for _, route in copies if route.lost)
    return Path(became, "; ".join(reasons))


def _copy_name(leaf: Leaf, copy: CopyRoute) -> str:
    """The name of a route; threads only load or store where registers are the other end."""
    if copy != "thread" or leaf.shared_bytes:
        return _COPY_NAMES[copy]
    return "loads of threads" if leaf.read_bytes else "stores of threads"


def _buffers_text(count: int) -> str:
    return f"{count} buffer{'s' * (count != 1)}"
