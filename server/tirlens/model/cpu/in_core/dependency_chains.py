"""Chains of results that wait for each other, from one execution of a statement to a later one.

What needs the results of earlier iterations cannot start before they are there: an iteration takes
the latencies around a cycle of dependences, over the iterations that the cycle spans (Rau,
"Iterative Modulo Scheduling", MICRO 1994: the recurrence-constrained initiation interval).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import CpuCore
from tirlens.hardware.spec import Device

from ...tree.context import EnclosingLoop
from ..compiler.loop_nests import Nest
from ..compiler.statements import Address, Leaf
from ..compiler.vector_width import width_of
from .arithmetic import CALLS

# Latencies relative to that of an addition, on Intel's cores from Skylake to Ice Lake (uops.info).
FLOAT_LATENCIES: Mapping[str, float] = {
    "div": 2.75,
    "mod": 2.75,
    "rcp": 2.75,
    "sqrt": 3.0,
    "rsqrt": 5.75,
    "neg": 0.25,
    "abs": 0.25,
    "select": 0.25,
    "logic": 0.25,
    "load": 1.25,
}
# Of integers, in clocks (ibid.).
INTEGER_LATENCIES: Mapping[str, float] = {
    "mul": 3.0,
    "div": 24.0,
    "mod": 24.0,
    "min": 2.0,
    "max": 2.0,
    "load": 5.0,
}
# The latency of adding integers.
INTEGER_CLK = 1.0
# Iterations after which the start of a chain no longer matters to how fast it goes on.
SETTLED = 24
# A value that is needed so many iterations later is there.
LONGEST = 8


@dataclass(frozen=True)
class Edge:
    """A statement's result that another one waits for, `clk` before its own, `distance` later."""

    source: int
    target: int
    distance: int
    clk: float


def chains(nest: Nest, device: Device) -> tuple[float, float]:
    """Clocks of one iteration of a nest's loop in which results wait for each other.

    The first goes on from an iteration to the next one, the second ends with each.
    """
    on = slope(list(edges(nest, nest.loop, device))) if nest.loop is not None else 0.0
    repeats = max((again(leaf, write) for leaf in nest.leaves for write in leaf.writes), default=1)
    alone = slope(list(edges(nest, None, device))) * repeats if repeats > 1 else 0.0
    return on, alone


def returning(nest: Nest, device: Device) -> float:
    """Clocks of one entry of a nest's loop that adds to what the entry before has stored.

    Such sums are loaded again each time, not kept in registers.
    """
    core = device.cpu
    if nest.loop is None or not nest.outer or core is None:
        return 0.0
    inside, around = nest.loop.var, nest.outer[-1].var
    return max(
        (
            forwarded(leaf, nest, device) + sum(latency(op, leaf, core) for op in read.path)
            for leaf in nest.leaves
            for read in leaf.reads
            if read.path is not None
            and inside in read.variables
            and around not in read.variables
            and any(_same_place(read, write) for write in leaf.writes)
        ),
        default=0.0,
    )


def forwarded(leaf: Leaf, nest: Nest, device: Device) -> float:
    """Clocks until what a statement has stored can be loaded."""
    core = device.cpu
    assert core is not None
    width = width_of(leaf, nest, device)
    if width.kind != "narrow":
        return core.vector_forward_clk
    return core.forward_clk if leaf.floating or width.elements > 1 else core.integer_forward_clk


def again(leaf: Leaf, write: Address) -> int:
    """How often the unrolled copies of a statement write one place."""
    return math.prod(loop.extent or 1 for loop in leaf.inner if loop.var not in write.variables)


def edges(nest: Nest, loop: EnclosingLoop | None, device: Device) -> Iterator[Edge]:
    """What waits for what in a loop, or (None) in the copies of one iteration's statements."""
    core = device.cpu
    assert core is not None
    for target, leaf in enumerate(nest.leaves):
        for read in leaf.reads:
            for source, other in enumerate(nest.leaves):
                for write in other.writes:
                    if read.path is None or not _same_strides(read, write):
                        continue
                    copies = again(other, write)
                    if loop is None and copies == 1:
                        continue
                    steps = _steps(write, read, leaf, loop, nest, source < target)
                    if steps is None or steps > LONGEST:
                        continue
                    clk = sum(latency(op, leaf, core) for op in read.path)
                    if _through_memory(nest, source, target, steps):
                        clk += forwarded(leaf, nest, device)
                    # All copies of a sum follow each other before the next iteration.
                    clk *= copies if loop is not None and source == target else 1
                    yield Edge(source, target, steps, clk)


def _same_strides(one: Address, other: Address) -> bool:
    return one.buffer == other.buffer and one.terms == other.terms


def _same_place(one: Address, other: Address) -> bool:
    return _same_strides(one, other) and one.constant == other.constant


def _steps(
    write: Address, read: Address, leaf: Leaf, loop: EnclosingLoop | None, nest: Nest, later: bool
) -> int | None:
    """Iterations until what is written is read; None if it is not."""
    stride = write.stride(loop.var, leaf.item.context.ranges) if loop is not None else 0
    if stride is None:
        return None
    if not stride:
        return (0 if later else 1) if write.constant == read.constant else None
    steps, rest = divmod(write.constant - read.constant, stride)
    if rest or not 0 <= steps < nest.trips or (not steps and not later):
        return None
    return steps


def _through_memory(nest: Nest, source: int, target: int, steps: int) -> bool:
    """Whether a result is stored and loaded on its way, instead of kept in a register.

    It is where something else is stored meanwhile that may lie in the same place for all that the
    compiler knows, and from further than the last iteration.
    """
    leaves = nest.leaves
    writes = {write.buffer for write in leaves[source].writes}
    if nest.vectorised or any(leaves[source].on_stack(write) for write in leaves[source].writes):
        return False
    between = leaves[source + 1 : target] if not steps else leaves[source + 1 :] + leaves[:target]
    return steps > 1 or any(
        write.buffer not in writes and not other.on_stack(write)
        for other in between
        for write in other.writes
    )


def latency(op: str, leaf: Leaf, core: CpuCore) -> float:
    """Clocks until the result of an operation of a statement is there."""
    name = op.removeprefix("fast_")
    if not leaf.floating:
        return INTEGER_CLK * INTEGER_LATENCIES.get(name, 1.0)
    if name in CALLS:
        return CALLS[name] * core.call_clk
    if name in ("min", "max"):
        return core.max_latency_clk
    if name == "fma":
        return core.multiply_add_latency_clk
    return core.latency_clk * FLOAT_LATENCIES.get(name, 1.0)


def slope(found: Sequence[Edge]) -> float:
    """Clocks by which results are later in each iteration, after many: the slowest cycle's."""
    if not found:
        return 0.0
    if all(edge.source == edge.target for edge in found):
        return max(edge.clk / edge.distance for edge in found)
    # Statements are in program order, so that what is needed at once is known.
    ordered = sorted(found, key=lambda edge: edge.target)
    ready: list[dict[int, float]] = []
    for step in range(2 * SETTLED + 1):
        now: dict[int, float] = {}
        for edge in ordered:
            before = step - edge.distance
            start = (
                (ready[before] if edge.distance else now).get(edge.source, 0.0)
                if before >= 0
                else 0.0
            )
            now[edge.target] = max(now.get(edge.target, 0.0), start + edge.clk)
        ready.append(now)
    return (max(ready[-1].values()) - max(ready[SETTLED].values())) / SETTLED
