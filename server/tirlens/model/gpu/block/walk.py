"""The time of one block on one SM, node by node.

A region (kernel body, loop body) runs its parts one after the other, but for roles of its warps
(`roles`), what is only started (`overlap`) and the loads of pipelined loops (`pipeline`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tirlens_worker.facts import Branch, Loop, Statement, While

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.node import CostNode
from ...tree.timed_node import TimedNode
from ...tree.traits import BRINGS, ORDERED, STORES, only, some
from ...tree.trip_counts import branch_sides, execution_shares, mean_trip_count
from .leaf import BlockContext, busy_beside, busy_of_block, step_seconds
from .overlap import drifted, is_straight, mixed, released, settled
from .pipeline import pipelined
from .program_builder import RoleCosts
from .runs import (
    branches,
    brings_together,
    is_entered_once,
    is_unrolled,
    loaded,
    places_from,
    starts_at_once,
    starts_loads,
    waits_for_loads,
)
from .warp_roles import concurrent_groups, divides_warps, simulate_roles

# Loops of which no thread takes the turns one after the other.
_SPREAD = GRID_KINDS | CONCURRENT_KINDS


def block_time(items: Sequence[CostNode], context: BlockContext) -> TimedNode:
    """The time of an average block that has its SM for itself."""
    return TimedNode(None, 0.0, _in_turn(items, context, 1.0))


def _in_turn(
    items: Sequence[CostNode],
    context: BlockContext,
    repeats: float,
    mixes: bool = True,
    waited: bool = False,
) -> tuple[TimedNode, ...]:
    """Parts that run one after the other.

    Loads in a row wait together for their data, and so do all of a straight run of instructions:
    the compiler starts them first, but for those that find their place in what another one loads.
    `mixes`: whether it also mixes what uses different units, which is left to the caller where the
    whole body is one straight run.  `waited`: whether such a run is under way.
    """
    if len(items) == 1:
        item = next(iter(items))
        follows = only(item, BRINGS) or (is_straight(item) and is_unrolled(item))
        ahead = waited and (follows or is_entered_once(item))
        alone = (_timed(item, context, repeats, waits=not ahead),)
        if not mixes or isinstance(item.source, Statement):
            return alone
        return mixed(alone, busy_beside(context))
    out: list[TimedNode] = []
    coming: set[str] = set()
    stored = False
    for group in concurrent_groups(items):
        if len(group) > 1:
            met = simulate_roles(group, _costs(context), repeats)
            out.extend(met or _longest([(_timed(item, context, repeats),) for item in group]))
            waited = False
            continue
        item = next(iter(group))
        straight = is_straight(item) and is_unrolled(item)
        load = only(item, BRINGS)
        follows = load or straight or is_entered_once(item)
        ahead = follows and waited and not (coming and places_from(item) & coming)
        ahead = ahead and not (stored and some(item, ORDERED))
        out.append(_timed(item, context, repeats, waits=not ahead))
        waited = load or (straight and (waited or starts_loads(item)))
        coming = (coming if ahead else set[str]()) | loaded(item) if waited else set[str]()
        stored = some(item, STORES) or (stored and ahead)
    done = settled(items, out, context.device, repeats)
    return mixed(done, busy_beside(context)) if mixes else done


def _timed(item: CostNode, context: BlockContext, repeats: float, waits: bool = True) -> TimedNode:
    node = item.source
    if isinstance(node, Statement):
        busy_s = busy_of_block(item, context).longest_s
        return TimedNode(item, busy_s + step_seconds(item, context, repeats, waits))
    if isinstance(node, Branch) and divides_warps(item):
        return _roles(item, context, repeats)
    inner = repeats
    if isinstance(node, Loop) and node.kind not in _SPREAD:
        # Nothing of a turn is moved over a branch in another one, be the loop unrolled or not.
        apart = branches(item, context.device)
        if apart or not starts_at_once(item):
            trips = mean_trip_count(item)
            if node.kind == "serial" and not apart and brings_together(item):
                trips = waits_for_loads(node, trips)
            inner = repeats * trips
            if node.kind == "pipelined":
                return pipelined(
                    item, context, repeats, trips, lambda node, times: _timed(node, context, times)
                )
    if isinstance(node, While):
        inner = repeats * mean_trip_count(item)
    mixes = not is_straight(item)
    children = tuple(
        part
        for side, share in execution_shares(item)
        for part in _in_turn(side, context, inner * share, mixes, waited=not waits)
    )
    inside = TimedNode(item, 0.0, children)
    timed = drifted(item, inside, lambda leaf: busy_of_block(leaf, context))
    return released(timed) if _is_outermost(item) else timed


def _is_outermost(item: CostNode) -> bool:
    """Whether a node is a loop over turns that stands in no other one."""
    if not isinstance(item.source, (Loop, While)):
        return False
    if isinstance(item.source, Loop) and item.source.kind in _SPREAD:
        return False
    return all(loop.kind in _SPREAD for loop in item.context.loops)


def _roles(item: CostNode, context: BlockContext, repeats: float) -> TimedNode:
    """A branch of which the warps of a block take different sides at the same time."""
    met = simulate_roles((item,), _costs(context), repeats)
    if met is not None:
        return met[0]
    timed = [_in_turn(side, context, repeats) for side in branch_sides(item)]
    return TimedNode(item, 0.0, tuple(_longest(timed)))


def _costs(context: BlockContext) -> RoleCosts:
    return RoleCosts(
        context.device,
        context.blocks,
        lambda items, repeats: _in_turn(items, context, repeats),
        lambda leaf: busy_of_block(leaf, context),
    )


def _longest(roles: Sequence[tuple[TimedNode, ...]]) -> list[TimedNode]:
    """The longest role takes the time; the others are hidden behind it."""
    seconds = [sum(part.total_s for part in role) for role in roles]
    longest = seconds.index(max(seconds))
    return [
        part if number == longest else part.scale(0.0)
        for number, role in enumerate(roles)
        for part in role
    ]
