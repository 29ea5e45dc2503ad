"""Attribution of time, operations and bytes to loops and statements, such that they add up.

Siblings from the same source location (a loop that Python unrolled) become one entry with their
sums.  Nested grid or block loops of one source line become one entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens_worker.facts import Barrier, Branch, Loop, Span, Statement, While

from ..counting.kernel_counts import NodeCount
from ..gpu.units import sum_busy_times
from ..operations import integer_flop
from ..report import BreakdownEntry, LineWork
from ..report.figure import merged_figures
from ..roofline import SHARED_BY_SMS
from ..tree.busy import Spills
from ..tree.moved import Traffic
from ..tree.node import CostNode, Leaf, known_sum
from ..tree.timed_kernel import TimedKernel
from ..tree.timed_node import TimedNode
from .bound import NEAR_LIMIT_FRACTION, SATURATED_FRACTION
from .paths import path_of

SPATIAL_KINDS = ("grid", "block", "cluster")
# The trip counts of the nested loops that an entry shows as one, from the outermost in.
_Extents = tuple[int | None, ...]
NO_WORK = LineWork(flop=0, global_bytes=0, dram_bytes=0.0, l2_bytes=0.0, shared_bytes=0)
_KINDS = {"persistent": "serial", "cluster": "grid"}


@dataclass(frozen=True)
class KernelFrame:
    """The kernel of an entry: its source location, time in seconds, and limiting memory level."""

    span: Span
    time_s: float | None
    limiter: str | None = None


@dataclass(frozen=True)
class _NodeTotals:
    """What the statements inside a node do; `busy_s` is the busy time of each unit."""

    work: LineWork
    busy_s: Mapping[str, float]


def _work(leaf: Leaf, kernel: TimedKernel) -> LineWork:
    return LineWork(
        flop=leaf.flop,
        int_ops=leaf.arith.int_ops,
        integer_flop=integer_flop(leaf.arith.flop_by_class),
        global_bytes=leaf.global_bytes,
        dram_bytes=kernel.traffic[leaf].dram_bytes,
        l2_bytes=kernel.l2_bytes(leaf),
        shared_bytes=leaf.shared_bytes,
    )


def _sum_work(parts: Sequence[LineWork]) -> LineWork:
    if len(parts) == 1:
        return parts[0]
    return LineWork(**merged_figures(parts)) if parts else NO_WORK


def build_entries(
    timed: TimedNode, kernel: TimedKernel, frame: KernelFrame
) -> tuple[BreakdownEntry, ...]:
    """The top entries, for the time that belongs to nodes of the kernel."""
    sums: dict[CostNode, _NodeTotals] = {}
    known = [child for child in timed.children if child.node is not None]
    for child in known:
        assert child.node is not None
        if not isinstance(child.node, Leaf):
            _compute_totals(child.node, kernel, sums)
    return _sibling_entries(known, kernel, frame, sums)[0]


def _compute_totals(
    item: CostNode, kernel: TimedKernel, sums: dict[CostNode, _NodeTotals]
) -> _NodeTotals:
    """Compute the totals of a node, and store those of all inner nodes."""
    if isinstance(item, Leaf):
        return _NodeTotals(_work(item, kernel), kernel.busy.unit_s[item])
    parts = [_compute_totals(child, kernel, sums) for child in item.children]
    if len(parts) == 1:
        found = parts[0]
    else:
        busy_s = sum_busy_times(part.busy_s for part in parts)
        found = _NodeTotals(_sum_work([part.work for part in parts]), busy_s)
    sums[item] = found
    return found


def overhead_entry(frame: KernelFrame, kind: str, label: str, seconds: float) -> BreakdownEntry:
    """An entry for time that belongs to no line: launch or tail."""
    return BreakdownEntry(
        kind=kind,
        label=label,
        span=frame.span,
        trips=None,
        executions=1,
        **vars(NO_WORK),
        time_s=seconds,
        share=_time_share(seconds, frame),
        bound="launch" if kind == "launch" else "tail",
        sites=(frame.span,),
    )


def _time_share(seconds: float | None, frame: KernelFrame) -> float | None:
    if seconds is None or not frame.time_s:
        return None
    return seconds / frame.time_s


def _sibling_entries(
    timed: Sequence[TimedNode],
    kernel: TimedKernel,
    frame: KernelFrame,
    sums: Mapping[CostNode, _NodeTotals],
) -> tuple[tuple[BreakdownEntry, ...], _Extents]:
    """The entries of siblings, those of one place of the source as one; the first one's extents."""
    groups: dict[object, list[TimedNode]] = {}
    for number, part in enumerate(timed):
        assert part.node is not None
        node: object = part.node.source
        key: object = number
        if isinstance(node, Statement) and node.sites:
            key = (type(node), node.sites, display_label(node))
        groups.setdefault(key, []).append(part)
    rows = [_group_entry(same, kernel, frame, sums) for same in groups.values()]
    return _merge_equal_entries([entry for entry, _ in rows]), rows[0][1] if rows else ()


def _group_entry(
    same: Sequence[TimedNode],
    kernel: TimedKernel,
    frame: KernelFrame,
    sums: Mapping[CostNode, _NodeTotals],
) -> tuple[BreakdownEntry, _Extents]:
    """The entry of one node, or of statements that are the same place of the source."""
    items = [part.node for part in same if part.node is not None]
    statements = [item for item in items if isinstance(item, Leaf)]
    if statements:
        times_s = [part.own_s for part in same]
        return _statement_entry(statements, kernel, times_s, frame), ()
    return _node_entry(same[0], items[0], kernel, frame, sums)


def _statement_entry(
    items: Sequence[Leaf], kernel: TimedKernel, times_s: Sequence[float], frame: KernelFrame
) -> BreakdownEntry:
    first = items[0]
    node, busy_s = first.source, kernel.busy.unit_s[first]
    path = path_of(first, kernel.routes)
    seconds = None if frame.time_s is None else max(sum(times_s), 0.0)
    alone = len(items) == 1
    step = _step(node, items)
    return BreakdownEntry(
        kind="op",
        label=display_label(node),
        span=node.sites[0] if node.sites else frame.span,
        trips=None,
        executions=known_sum([item.count.executions for item in items]),
        **vars(_sum_work([_work(item, kernel) for item in items])),
        time_s=seconds,
        share=_time_share(seconds, frame),
        bound=_entry_bound(busy_s, None if seconds is None else times_s[0], frame.limiter),
        sites=node.sites,
        op=node.display_name,
        overlapped_s=_overlapped_s(busy_s, seconds) if alone else None,
        details=_details(kernel.traffic[first], kernel.busy.spills[first]),
        step=step,
        step_arrays=_step_arrays(step, items),
        path=path.became,
        lost=path.lost,
    )


def _step(node: Statement, items: Sequence[Leaf]) -> str:
    """What the statement does that others wait for (`BreakdownEntry.step`)."""
    if isinstance(node, Barrier):
        return "barrier"
    if any(one.op == "mma" for one in node.arith):
        return "product"
    if any(access.mode == "atomic" for access in node.accesses):
        return "atomic"
    if any(item.read_bytes for item in items):
        return "load"
    return "store" if any(item.write_bytes for item in items) else "arithmetic"


def _step_arrays(step: str, items: Sequence[Leaf]) -> tuple[str, ...]:
    """The arrays in global memory that a step accesses (`BreakdownEntry.step_arrays`)."""
    modes = {"load": ("read",), "store": ("write",), "atomic": ("atomic",)}.get(step, ())
    found = (
        access.buffer.name
        for item in items
        for access in item.count.accesses
        if access.buffer.scope == "global" and access.access.mode in modes
    )
    return tuple(dict.fromkeys(found))


def _node_entry(
    timed: TimedNode,
    item: CostNode,
    kernel: TimedKernel,
    frame: KernelFrame,
    sums: Mapping[CostNode, _NodeTotals],
) -> tuple[BreakdownEntry, _Extents]:
    children, extents = _sibling_entries(timed.children, kernel, frame, sums)
    path = path_of(item, kernel.routes)
    node = item.count.source
    inside = sums[item]
    seconds: float | None = None
    if frame.time_s is not None:
        seconds = timed.own_s + sum(child.time_s or 0.0 for child in children)
    entry = BreakdownEntry(
        kind=_kind(node),
        label=display_label(node),
        span=node.sites[0] if node.sites else frame.span,
        trips=item.count.trips if isinstance(node, (Loop, While)) else None,
        executions=item.count.executions,
        **vars(inside.work),
        time_s=seconds,
        share=_time_share(seconds, frame),
        bound=_entry_bound(inside.busy_s, seconds, frame.limiter),
        children=children,
        sites=node.sites,
        mean_trips=_mean_trips(item.count),
        path=path.became,
        lost=path.lost,
    )
    return _collapse_grid_loops(entry, extents)


def _mean_trips(count: NodeCount) -> float | None:
    """The mean trip count of a loop whose trip count varies; None for any other node."""
    if not (count.trips and count.executions and count.iterations is not None):
        return None
    varies = count.iterations != count.executions * count.trips
    return count.iterations / count.executions if varies else None


def _entry_bound(
    busy: Mapping[str, float], seconds: float | None, limiter: str | None
) -> str | None:
    """The busiest unit, or ``latency`` if none is busy enough, as for the kernel's bound."""
    if not busy:
        return None
    if not seconds:
        return max(busy, key=lambda unit: busy[unit])
    near = (
        name
        for name, busy_s in busy.items()
        if busy_s
        >= (
            NEAR_LIMIT_FRACTION if name in SHARED_BY_SMS and name != limiter else SATURATED_FRACTION
        )
        * seconds
    )
    return max(near, key=lambda unit: busy[unit], default="latency")


def _overlapped_s(busy: Mapping[str, float], seconds: float | None) -> float | None:
    if seconds is None or not busy:
        return None
    return max(0.0, max(busy.values()) - seconds)


def _details(traffic: Traffic, spills: Spills) -> tuple[tuple[str, str], ...]:
    details: list[tuple[str, str]] = []
    sectors = traffic.sectors_per_request
    if sectors is not None and sectors > 1.0:
        details.append(("coalescing", f"{sectors:.3g} bytes moved per requested byte"))
    moved = ((spills.read_bytes, "loaded"), (spills.stored_bytes, "stored"))
    if any(bytes_ for bytes_, _ in moved):
        parts = (f"{bytes_:.3g} bytes {verb}" for bytes_, verb in moved if bytes_)
        details.append(("local memory", ", ".join(parts)))
    return tuple(details)


def _kind(node: object) -> str:
    if isinstance(node, Loop):
        return _KINDS.get(node.kind, node.kind)
    if isinstance(node, While):
        return "serial"
    return "branch" if isinstance(node, Branch) else "op"


def display_label(node: object) -> str:
    """The text of a node, for display only."""
    label = getattr(node, "label", "")
    if label:
        return str(label)
    if isinstance(node, Loop):
        return f"for {node.var}"
    if isinstance(node, While):
        return "while"
    if isinstance(node, Branch):
        return "if"
    return str(getattr(node, "display_name", ""))


def _collapse_grid_loops(cost: BreakdownEntry, inside: _Extents) -> tuple[BreakdownEntry, _Extents]:
    """Merge nested grid and block loops of one source line into one entry: ``grid 64 x 8``.

    `inside` are the extents of the first entry in `cost`.
    """
    alone = cost, (cost.trips,)
    if cost.kind not in SPATIAL_KINDS or len(cost.children) != 1:
        return alone
    (child,) = cost.children
    if child.kind not in SPATIAL_KINDS or child.span.line != cost.span.line:
        return alone
    own = (cost.time_s or 0.0) - (child.time_s or 0.0)
    if own > 0 or cost.flop != child.flop:
        return alone
    if child.kind != cost.kind:
        return replace(cost, children=child.children), (cost.trips,)
    extents = cost.trips, *inside
    trips = None if cost.trips is None or child.trips is None else cost.trips * child.trips
    label = f"{cost.kind} {' x '.join(str(extent or '?') for extent in extents)}"
    return replace(cost, trips=trips, label=label, children=child.children), extents


def _merge_equal_entries(costs: Sequence[BreakdownEntry]) -> tuple[BreakdownEntry, ...]:
    if len(costs) < 2:
        return tuple(costs)
    groups: dict[tuple[object, ...], list[BreakdownEntry]] = {}
    for number, cost in enumerate(costs):
        key = (cost.kind, cost.op, cost.label, cost.sites) if cost.sites else (number,)
        groups.setdefault(key, []).append(cost)
    return tuple(group[0] if len(group) == 1 else _sum_entries(group) for group in groups.values())


def _sum_entries(group: Sequence[BreakdownEntry]) -> BreakdownEntry:
    first = group[0]
    children = _merge_equal_entries([child for cost in group for child in cost.children])
    own = sum(
        (cost.time_s or 0.0) - sum(child.time_s or 0.0 for child in cost.children) for cost in group
    )
    known = all(cost.time_s is not None for cost in group)
    seconds = max(own, 0.0) + sum(child.time_s or 0.0 for child in children) if known else None
    return replace(first, **merged_figures(group) | {"time_s": seconds}, children=children)
