"""The timeline of a block: what its warps, copies and matrix products do at the same time.

A block whose roles are simulated has the steps of the simulation.  Otherwise its code is walked in
program order with the times that the model gives it: pipelined loops load ahead as far as their
buffers allow, and asynchronous units work on while the warps continue.  Of a loop with many
iterations the first and the last are displayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tirlens_worker.facts import Barrier, Copy, Gemm, Mma

from ..gpu.block.block_record import BlockRecord, PipelineRun, RoleRun, StepRun
from ..gpu.block.throughput import BlockContext, busy_time
from ..reporting.attribution import display_label
from ..tree.context import CONCURRENT_KINDS, GRID_KINDS
from ..tree.node import CostNode, Leaf, LoopCost, WhileCost
from ..tree.timed_node import TimedNode
from ..tree.trip_counts import mean_trip_count

#: What a segment is: a copy between memories, a matrix product, other code, a barrier, or a wait.
SegmentKind = Literal["copy", "product", "code", "barrier", "wait"]

# Iterations of a loop that are displayed before the gap, besides those that fill a pipeline.
_MAX_FIRST_ITERATIONS = 2
# Loops of no more iterations are displayed whole.
_MAX_WHOLE_ITERATIONS = 4
# The most segments of a timeline, and of each part of a simulated one.
_MAX_SEGMENTS = 240
_MAX_HEAD_SEGMENTS, _MAX_TAIL_SEGMENTS = 48, 12
# Shorter segments than this share of the timeline are left out.
_MAX_INVISIBLE_SHARE = 1 / 1000
# What takes more than this share of the time of the block is all of it.
_MAX_PART_SHARE = 0.98
_UNIT_LANES = {"port": "TMA copies", "tensor": "tensor cores"}
_WARPS, _COPIES, _PRODUCTS = "warps", "copies", "tensor cores"


@dataclass(frozen=True)
class Segment:
    """A stretch of a lane, in seconds on the timeline.

    `line` is the line in the kernel's file (None: another file, or none), `iteration` the number of
    the iteration of the innermost pipelined loop.  A copy is complete at `complete_s`, which is
    after the end of its transfer by its latency.
    """

    kind: SegmentKind
    start_s: float
    end_s: float
    label: str = ""
    line: int | None = None
    iteration: int | None = None
    complete_s: float | None = None


@dataclass(frozen=True)
class Lane:
    """What one group of warps, or one asynchronous unit, does; segments do not overlap."""

    name: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Gap:
    """A place of the timeline where `seconds` are left out: so many iterations (0: not known)."""

    at_s: float
    seconds: float
    iterations: int


@dataclass(frozen=True)
class BlockTimeline:
    """The lanes of a block, with gaps where iterations are left out.

    `displayed_s` is the length of the timeline without the gaps, `block_s` the time of the block.
    `part` says which part of the block it is, where it is not all.
    """

    lanes: tuple[Lane, ...]
    gaps: tuple[Gap, ...]
    displayed_s: float
    block_s: float
    part: str = ""


def block_timeline(
    root: TimedNode, context: BlockContext, record: BlockRecord
) -> BlockTimeline | None:
    """The timeline of a block; None where it takes no time.

    Parameters
    ----------
    root
        The times of the block's nodes.
    context
        The device and the launch.
    record
        The runs of its pipelines and roles.
    """
    roles = max(record.roles, key=lambda runs: max(run.end_s for run in runs), default=None)
    if roles:
        return _role_timeline(roles, root.total_s)
    schedule = _Schedule(context, record)
    schedule.add(root.children, 1.0)
    return schedule.timeline(root.total_s)


@dataclass
class _Schedule:
    """The timeline so far, of code that is added in program order.

    `clock_s` is the time of the warps without gaps, `free_s` when each unit is free, `loaded_ahead`
    the loads of pipelines.
    """

    context: BlockContext
    record: BlockRecord
    clock_s: float = 0.0
    lanes: dict[str, list[Segment]] = field(default_factory=dict[str, list[Segment]])
    gaps: list[Gap] = field(default_factory=list[Gap])
    free_s: dict[str, float] = field(default_factory=dict[str, float])
    loaded_ahead: set[CostNode] = field(default_factory=set[CostNode])

    def timeline(self, block_s: float) -> BlockTimeline | None:
        """The timeline of what was added."""
        ends = [one.end_s for segments in self.lanes.values() for one in segments]
        displayed_s = max(ends, default=0.0)
        if not displayed_s:
            return None
        names = sorted(self.lanes, key=[_WARPS, _COPIES, _PRODUCTS].index)
        lanes = [
            Lane(self._title(name), _visible(self.lanes[name], displayed_s))
            for name in names
            if self.lanes[name]
        ]
        return BlockTimeline(tuple(lanes), tuple(self.gaps), displayed_s, block_s)

    def add(self, nodes: Sequence[TimedNode], executions: float) -> None:
        """Add siblings that the block executes so many times, once."""
        for timed in nodes:
            if sum(map(len, self.lanes.values())) > _MAX_SEGMENTS:
                self._leave_out(timed.total_s / executions, 0)
            else:
                self._add_node(timed, executions)

    def _add_node(self, timed: TimedNode, executions: float) -> None:
        node = timed.node
        if isinstance(node, Leaf):
            if node not in self.loaded_ahead:
                self._add_statement(node, timed.own_s, executions)
        elif node is not None and node in self.record.pipelines:
            self._add_pipeline(self.record.pipelines[node], mean_trip_count(node))
        elif node is not None and _is_sequential(node):
            self._add_loop(timed, node, executions)
        elif executions:
            self.add(timed.children, executions)

    def _add_loop(self, timed: TimedNode, node: CostNode, executions: float) -> None:
        trip_count = max(round(mean_trip_count(node)), 1)
        inner = executions * trip_count
        displayed = trip_count if trip_count <= _MAX_WHOLE_ITERATIONS else _MAX_FIRST_ITERATIONS
        for _ in range(displayed):
            self.add(timed.children, inner)
        if displayed < trip_count:
            hidden = trip_count - displayed - 1
            self._leave_out(hidden * timed.total_s / inner, hidden)
            self.add(timed.children, inner)

    def _add_pipeline(self, run: PipelineRun, trip_count: float) -> None:
        """Add one execution of a pipelined loop.

        A buffer is loaded again when the computation of its tile ends.
        """
        self.loaded_ahead.update(run.loads)
        iterations = max(round(trip_count), 1)
        first = max(run.stages, 1) + _MAX_FIRST_ITERATIONS
        whole = iterations <= first + _MAX_FIRST_ITERATIONS
        displayed = range(iterations) if whole else (*range(first), iterations - 1)
        released_s: list[float] = [self.clock_s] * max(run.stages, 1)
        for number, iteration in enumerate(displayed):
            if not whole and number == first:
                hidden = iterations - first - 1
                self._leave_out(hidden * run.steady_s, hidden)
                released_s = [self.clock_s - run.steady_s] * len(released_s)
            slot = iteration % len(released_s)
            ready_s = self._transfer(run, released_s[slot], iteration)
            self._wait_until(ready_s, iteration)
            start = sum(map(len, self.lanes.values()))
            self.add(run.computation, run.iterations)
            if start == sum(map(len, self.lanes.values())):
                self.clock_s = max(self.clock_s, ready_s)
            released_s[slot] = self.clock_s

    def _transfer(self, run: PipelineRun, released_s: float, iteration: int) -> float:
        """Add the copies of one iteration, which begin at `released_s` at the earliest."""
        start_s = max(released_s, self.free_s.get(_COPIES, 0.0))
        busy_s = [busy_time(leaf, self.context).longest_s for leaf in run.loads]
        total_s = sum(busy_s)
        ready_s = start_s + run.transfer_s + run.latency_s
        for leaf, seconds in zip(run.loads, busy_s, strict=True):
            share = seconds / total_s if total_s else 1 / len(run.loads)
            end_s = start_s + share * run.transfer_s
            segment = _segment(leaf, "copy", start_s, end_s)
            segment = replace(segment, iteration=iteration, complete_s=end_s + run.latency_s)
            self.lanes.setdefault(_COPIES, []).append(segment)
            start_s = end_s
        self.free_s[_COPIES] = start_s
        return ready_s

    def _wait_until(self, ready_s: float, iteration: int) -> None:
        if ready_s > self.clock_s:
            wait = Segment(
                "wait", self.clock_s, ready_s, "wait for the copies", iteration=iteration
            )
            self.lanes.setdefault(_WARPS, []).append(wait)
            self.clock_s = ready_s

    def _add_statement(self, leaf: Leaf, own_s: float, executions: float) -> None:
        """Add a statement: on the warps what they spend, on its unit for how long that is busy."""
        if not executions:
            return
        kind, seconds = _kind(leaf), own_s / executions
        busy = busy_time(leaf, self.context)
        start_s, end_s = self.clock_s, self.clock_s + seconds
        unit = {"copy": _COPIES, "product": _PRODUCTS}.get(kind)
        unit_s = busy.unit_s.get("tensor", 0.0) if kind == "product" else busy.longest_s
        unit_s /= executions
        if unit is not None and unit_s:
            unit_start_s = max(start_s, self.free_s.get(unit, 0.0))
            self.free_s[unit] = unit_start_s + unit_s
            on_unit = _segment(leaf, kind, unit_start_s, unit_start_s + unit_s)
            self.lanes.setdefault(unit, []).append(on_unit)
        if seconds:
            busy_s = min(busy.longest_s / executions, seconds)
            lane = self.lanes.setdefault(_WARPS, [])
            lane.append(_segment(leaf, kind, start_s, start_s + busy_s))
            if seconds > busy_s and kind != "barrier":
                lane.append(_segment(leaf, "wait", start_s + busy_s, end_s))
            elif seconds > busy_s:
                lane[-1] = _segment(leaf, kind, start_s, end_s)
        self.clock_s = end_s

    def _leave_out(self, seconds: float, iterations: int) -> None:
        if seconds > 0:
            self.gaps.append(Gap(self.clock_s, seconds, iterations))

    def _title(self, lane: str) -> str:
        if not self.context.has_producer or _COPIES not in self.lanes:
            return lane
        return {_WARPS: "consumer warps", _COPIES: "producer warp: copies"}.get(lane, lane)


def _is_sequential(node: CostNode) -> bool:
    if isinstance(node, WhileCost):
        return True
    return isinstance(node, LoopCost) and node.source.kind not in GRID_KINDS | CONCURRENT_KINDS


def _kind(leaf: Leaf) -> SegmentKind:
    source = leaf.source
    if isinstance(source, (Gemm, Mma)):
        return "product"
    if isinstance(source, Barrier):
        return "barrier"
    if isinstance(source, Copy) and leaf.global_bytes:
        return "copy"
    return "code"


def _segment(node: CostNode, kind: SegmentKind, start_s: float, end_s: float) -> Segment:
    source = node.source
    site = next(iter(source.sites), None)
    line = site.line if site is not None and site.file is None else None
    return Segment(kind, start_s, end_s, display_label(source), line)


def _visible(segments: Iterable[Segment], displayed_s: float) -> tuple[Segment, ...]:
    """The segments that are long enough to be seen, neighbours of the same kind and line as one."""
    out: list[Segment] = []
    for one in segments:
        last = out[-1] if out else None
        same = last is not None and (last.kind, last.line, last.iteration) == (
            one.kind,
            one.line,
            one.iteration,
        )
        if (
            last is not None
            and same
            and one.start_s - last.end_s <= displayed_s * _MAX_INVISIBLE_SHARE
        ):
            out[-1] = replace(last, end_s=one.end_s, complete_s=one.complete_s)
        else:
            out.append(one)
    return tuple(
        one for one in out if one.end_s - one.start_s >= displayed_s * _MAX_INVISIBLE_SHARE
    )


def _role_timeline(roles: Sequence[RoleRun], block_s: float) -> BlockTimeline | None:
    """The timeline of simulated roles: a lane for each of them and for each unit."""
    lanes: dict[str, list[Segment]] = {}
    for number, role in enumerate(roles, 1):
        lanes[_role_name(number, role)] = [
            segment for run in role.steps if not run.unit for segment in _step_segments(run)
        ]
    for unit, name in _UNIT_LANES.items():
        runs = [run for role in roles for run in role.steps if run.unit == unit]
        runs.sort(key=lambda run: run.begin_s)
        if runs:
            lanes[name] = [segment for run in runs for segment in _step_segments(run)]
    end_s = max(role.end_s for role in roles)
    return _shorten(lanes, end_s, block_s)


def _role_name(number: int, role: RoleRun) -> str:
    kinds = {_step_kind(run) for run in role.steps}
    what = "producer" if "copy" in kinds else "consumer" if "product" in kinds else "other"
    return f"role {number}: {what}"


def _step_kind(run: StepRun) -> SegmentKind:
    node = getattr(run.step, "node", None)
    return _kind(node) if isinstance(node, Leaf) else "code"


def _step_segments(run: StepRun) -> Iterator[Segment]:
    nodes = [getattr(run.step, "node", None), *(t.node for t in getattr(run.step, "timed", ()))]
    node = next((one for one in nodes if one is not None), None)
    if node is None or run.end_s <= run.begin_s:
        return
    kind = _step_kind(run)
    if run.unit:
        segment = _segment(node, kind, run.begin_s, run.end_s)
        yield replace(segment, complete_s=run.complete_s) if kind == "copy" else segment
        return
    works_until_s = max(run.end_s - run.wait_s, run.begin_s)
    if works_until_s > run.begin_s:
        yield _segment(node, kind, run.begin_s, works_until_s)
    if run.end_s > works_until_s:
        yield _segment(node, "wait", works_until_s, run.end_s)


def _shorten(lanes: dict[str, list[Segment]], end_s: float, block_s: float) -> BlockTimeline | None:
    """The beginning and the end of long lanes, with a gap between."""
    starts = [sorted(one.start_s for one in segments) for segments in lanes.values() if segments]
    if not starts or not end_s:
        return None
    head_s = min(
        (s[_MAX_HEAD_SEGMENTS] for s in starts if len(s) > _MAX_HEAD_SEGMENTS), default=end_s
    )
    tail_s = max(
        (s[-_MAX_TAIL_SEGMENTS] for s in starts if len(s) > _MAX_TAIL_SEGMENTS), default=0.0
    )
    gap_s = tail_s - head_s if tail_s > head_s else 0.0
    displayed_s = end_s - gap_s

    def move(one: Segment) -> Segment | None:
        if not gap_s or one.end_s <= head_s:
            return one
        if one.start_s < tail_s:
            return replace(one, end_s=head_s) if one.start_s < head_s else None
        complete_s = None if one.complete_s is None else one.complete_s - gap_s
        return replace(
            one, start_s=one.start_s - gap_s, end_s=one.end_s - gap_s, complete_s=complete_s
        )

    found = tuple(
        Lane(name, _visible(filter(None, map(move, segments)), displayed_s))
        for name, segments in lanes.items()
    )
    gaps = (Gap(head_s, gap_s, 0),) if gap_s else ()
    part = "" if end_s > _MAX_PART_SHARE * block_s else "the warp roles, once"
    return BlockTimeline(found, gaps, displayed_s, block_s, part)
