"""Data that differs between the lanes of a warp, which then execute different code.

A warp issues an instruction while any of its lanes needs it: both sides of a branch, and the
longest trip count of its lanes (CUDA C++ Programming Guide, "SIMT Architecture").  Which lanes do
depends on the data.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens_counting.expressions import UNKNOWN_OPERATORS, free_variables, walk
from tirlens_worker.facts import Buffer, Expr, KernelFacts, Loop

from .facts_walk import walk_nodes

TWO_SIDES = (
    "; lanes of a warp that take different sides take the time of both: assumed that all lanes "
    "take the same side"
)
ONE_SIDE = "; a warp takes the time where any of its lanes does"
TRIPS = "; a warp takes the time of the longest of its lanes: assumed that all have the same"


def lane_variables(facts: KernelFacts) -> frozenset[str]:
    """The loops whose iterations are the lanes of warps; none in a kernel without threads."""
    if not facts.launch.threads:
        return frozenset()
    return frozenset(
        node.var
        for node in walk_nodes(facts.body)
        if isinstance(node, Loop) and node.kind in ("block", "parallel")
    )


def differs_between_lanes(expr: Expr, lanes: frozenset[str], buffers: Mapping[str, Buffer]) -> bool:
    """Whether the data in `expr` is loaded at an index of the lane, or is a lane's own value."""
    if not lanes:
        return False
    return any(
        bool(free_variables(part) & lanes)
        or (part[0] == "load" and part[1] in buffers and _is_of_one_lane(buffers[part[1]]))
        for part in walk(expr)
        if isinstance(part, tuple) and part[0] in UNKNOWN_OPERATORS
    )


def _is_of_one_lane(buffer: Buffer) -> bool:
    return buffer.scope in ("local", "local.var")
