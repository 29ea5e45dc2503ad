"""Dependency chains: the latency of results that need those of earlier executions.

An iteration takes at least the latencies around a cycle of dependences, over the iterations that
the cycle spans (Rau, "Iterative Modulo Scheduling", MICRO 1994: the recurrence-constrained
initiation interval).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import INTEGER_ADD_LATENCY_CLK, CpuCore
from tirlens.hardware.spec import Device

from ...constants import constant
from ...tree.context import EnclosingLoop
from ..compiler.loop_nests import Nest
from ..compiler.statements import Address, NestStatement
from ..compiler.vector_width import width_of
from .arithmetic import CALL_COST_RATIOS

FLOAT_LATENCY_RATIOS: Mapping[str, float] = constant(
    "FLOAT_LATENCY_RATIOS",
    {
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
    },
    kind="measured",
    unit="ratio",
    meaning="Latencies of floating-point operations over that of an addition.",
    source="uops.info, Intel's cores from Skylake to Ice Lake",
)
INTEGER_LATENCY_RATIOS: Mapping[str, float] = constant(
    "INTEGER_LATENCY_RATIOS",
    {
        "mul": 3.0,
        "div": 24.0,
        "mod": 24.0,
        "min": 2.0,
        "max": 2.0,
        "load": 5.0,
    },
    kind="measured",
    unit="ratio",
    meaning="Latencies of integer operations over that of an addition.",
    source="uops.info, Intel's cores from Skylake to Ice Lake",
)
# Iterations after which the start of a chain no longer changes its rate.
MAX_TRANSIENT_ITERATIONS = 24
# Iterations between a result and its use from which the use does not wait.
MAX_DEPENDENCE_DISTANCE = 8


@dataclass(frozen=True)
class Dependence:
    """A statement that needs the result of another one.

    Attributes
    ----------
    source, target
        Numbers of the statement with the result and of the one that needs it.
    distance
        Iterations from the one to the other.
    latency_clk
        Clocks from the source's result to the target's.
    """

    source: int
    target: int
    distance: int
    latency_clk: float


def chain_clk(nest: Nest, device: Device) -> tuple[float, float]:
    """Clocks of one iteration of a nest's loop by its dependency chains.

    The first number is that of chains carried from one iteration to the next, the second that of
    chains that end with each iteration.
    """
    carried = 0.0
    if nest.loop is not None:
        carried = recurrence_clk(list(dependences(nest, nest.loop, device)))
    copies = max(
        (
            copies_per_element(statement, write)
            for statement in nest.statements
            for write in statement.writes
        ),
        default=1,
    )
    return carried, recurrence_clk(list(dependences(nest, None, device))) * copies


def entry_chain_clk(nest: Nest, device: Device) -> float:
    """Clocks of one entry of a nest's loop that adds to what the previous entry has stored.

    Each entry loads such sums again; they do not stay in registers.
    """
    core = device.cpu
    if nest.loop is None or not nest.outer_loops or core is None:
        return 0.0
    inner, outer = nest.loop.var, nest.outer_loops[-1].var
    return max(
        (
            forward_clk(statement, nest, device)
            + sum(latency_clk(op, statement, core) for op in read.path)
            for statement in nest.statements
            for read in statement.reads
            if read.path is not None
            and inner in read.variables
            and outer not in read.variables
            and any(read.is_same_element(write) for write in statement.writes)
        ),
        default=0.0,
    )


def forward_clk(statement: NestStatement, nest: Nest, device: Device) -> float:
    """Clocks of store-to-load forwarding of a statement's result."""
    core = device.cpu
    assert core is not None
    width = width_of(statement, nest, device)
    if width.kind != "narrow":
        return core.vector_forward_clk
    is_float_or_vector = statement.is_floating_point or width.elements > 1
    return core.forward_clk if is_float_or_vector else core.integer_forward_clk


def copies_per_element(statement: NestStatement, write: Address) -> int:
    """Unrolled copies of a statement that write one element."""
    return math.prod(
        loop.trip_count for loop in statement.inner_loops if loop.var not in write.variables
    )


def dependences(nest: Nest, loop: EnclosingLoop | None, device: Device) -> Iterator[Dependence]:
    """The dependences in a loop, or (None) between the copies of one iteration's statements."""
    core = device.cpu
    assert core is not None
    for target, statement in enumerate(nest.statements):
        for read in statement.reads:
            for source, other in enumerate(nest.statements):
                for write in other.writes:
                    if read.path is None or not read.has_same_strides(write):
                        continue
                    copies = copies_per_element(other, write)
                    if loop is None and copies == 1:
                        continue
                    distance = _distance(write, read, statement, loop, nest, source < target)
                    if distance is None or distance > MAX_DEPENDENCE_DISTANCE:
                        continue
                    clk = sum(latency_clk(op, statement, core) for op in read.path)
                    if _is_through_memory(nest, source, target, distance):
                        clk += forward_clk(statement, nest, device)
                    # All copies of a sum follow each other before the next iteration.
                    clk *= copies if loop is not None and source == target else 1
                    yield Dependence(source, target, distance, clk)


def _distance(
    write: Address,
    read: Address,
    statement: NestStatement,
    loop: EnclosingLoop | None,
    nest: Nest,
    is_later: bool,
) -> int | None:
    """Iterations from a write to a read of the same element; None if there is none.

    `is_later` is true if the read is in a later statement than the write.
    """
    stride = write.stride_bytes(loop.var, statement.node.context.ranges) if loop else 0
    if stride is None:
        return None
    if not stride:
        return (0 if is_later else 1) if write.offset_bytes == read.offset_bytes else None
    distance, rest = divmod(write.offset_bytes - read.offset_bytes, stride)
    if rest or not 0 <= distance < nest.trip_count or (not distance and not is_later):
        return None
    return distance


def _is_through_memory(nest: Nest, source: int, target: int, distance: int) -> bool:
    """Whether a result is stored and loaded on its way to its use, not kept in a register.

    It is if another store in between may overlap with it for all that the compiler knows, and if it
    is from before the previous iteration.
    """
    statements = nest.statements
    producer = statements[source]
    buffers = {write.buffer for write in producer.writes}
    if nest.is_vectorized or any(producer.is_on_stack(write) for write in producer.writes):
        return False
    between = statements[source + 1 : target]
    if distance:
        between = statements[source + 1 :] + statements[:target]
    return distance > 1 or any(
        write.buffer not in buffers and not other.is_on_stack(write)
        for other in between
        for write in other.writes
    )


def latency_clk(op: str, statement: NestStatement, core: CpuCore) -> float:
    """Clocks from the operands of an operation to its result."""
    name = op.removeprefix("fast_")
    if not statement.is_floating_point:
        return INTEGER_ADD_LATENCY_CLK * INTEGER_LATENCY_RATIOS.get(name, 1.0)
    if name in CALL_COST_RATIOS:
        return CALL_COST_RATIOS[name] * core.call_clk
    if name in ("min", "max"):
        return core.max_latency_clk
    if name == "fma":
        return core.multiply_add_latency_clk
    return core.latency_clk * FLOAT_LATENCY_RATIOS.get(name, 1.0)


def recurrence_clk(found: Sequence[Dependence]) -> float:
    """Clocks of one iteration of the slowest cycle of dependences, after many iterations."""
    if not found:
        return 0.0
    if all(one.source == one.target for one in found):
        return max(one.latency_clk / one.distance for one in found)
    # Statements are in program order, so that dependences of distance 0 are resolved in one pass.
    ordered = sorted(found, key=lambda one: one.target)
    ready_clk: list[dict[int, float]] = []
    for iteration in range(2 * MAX_TRANSIENT_ITERATIONS + 1):
        now: dict[int, float] = {}
        for one in ordered:
            before = iteration - one.distance
            start = (
                (ready_clk[before] if one.distance else now).get(one.source, 0.0)
                if before >= 0
                else 0.0
            )
            now[one.target] = max(now.get(one.target, 0.0), start + one.latency_clk)
        ready_clk.append(now)
    last, first = max(ready_clk[-1].values()), max(ready_clk[MAX_TRANSIENT_ITERATIONS].values())
    return (last - first) / MAX_TRANSIENT_ITERATIONS
