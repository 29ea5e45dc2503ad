"""Register pressure: the bytes of a thread's arrays that are live at the same time.

An array is live from its first access to its last.  One that is accessed inside and outside of a
loop is live during the whole loop, as is one whose value passes from one iteration to the next.  An
array that each iteration indexes by the loop variable is not: registers have no index, so the loop
is unrolled, and the registers of one array are reused for another part by part (nvcc 13.0 for
sm_90a takes 128 registers for two arrays of 128 floats a thread, where a loop over four rows
computes the second from the first).  The registers of an array with constant indices are live
separately.

In straight-line code of single threads the compiler orders instructions so that few values are live
at a time.  The pressure is therefore counted where it cannot reorder: at loads from global memory,
at barriers, at tile operations, and at the start of a loop.  flashinfer's layer norm of 16 values a
thread takes 32 registers (mlc-ai/TIRx-kernels@51a6c01d, ptxas 13.0); its arrays alone are 80.

In straight-line code of tile statements a thread's elements are independent until a reduction along
a row or an exchange through shared memory.  If registers are short, the compiler finishes some
elements before it starts others: ``sum(o * do)`` over 256 x 256 elements on 128 threads, with 512
registers of sums and 512 of halves, takes 194 registers and no stack (ptxas 13.0 for sm_90a,
`tests/measured/compiled.csv`).  What is kept of the arrays at all: `kept_values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import (
    Copy,
    Evaluate,
    Fill,
    Reduce,
    Store,
)

from ...counting.kernel_counts import Counts
from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.node import BranchCost, CostNode, Leaf, LoopCost, WhileCost, leaves_of
from ...tree.traits import STRAIGHT, every
from ...tree.trip_counts import mean_trip_count
from .kept_values import kept_values
from .live_ranges import REGISTER_BYTES, REGISTER_SCOPES, LiveRange, find_live_ranges

_ELEMENTWISE_OPS = (Store, Evaluate, Copy, Fill, Reduce)
_CONCURRENT_KINDS = GRID_KINDS | CONCURRENT_KINDS


@dataclass(frozen=True)
class RegisterDemand:
    """Register bytes of a thread.

    Attributes
    ----------
    peak_bytes
        The most that the values which the compiler keeps take at one time.
    required_bytes
        What it cannot reduce if registers are short: the rest can be computed element by element.
    loading_bytes
        The most that these values and loads that wait for their data take together.
    """

    peak_bytes: float
    required_bytes: float
    loading_bytes: float


def find_register_demand(
    costs: Sequence[CostNode], counts: Counts, load_registers: Mapping[int, float]
) -> RegisterDemand:
    """The register demand of one thread's arrays.

    `load_registers` are the registers, by statement number, in which loads wait for their data.
    """
    leaves = leaves_of(costs)
    lives = find_live_ranges(leaves, counts.buffers)
    pieces = find_straight_code(costs)
    passing = {name for name, life in lives.items() if _is_local_to_piece(life, pieces)}
    held = {number for number, leaf in enumerate(leaves) if _is_scheduling_boundary(leaf)}
    for low, high, variable in _sequential_loops(costs):
        if variable is not None:
            held.add(low)
        for life in lives.values():
            if not life.is_local_to_iteration(low, high, variable):
                _extend_over_loop(life, low, high)
    staying = [life for name, life in lives.items() if name not in passing]
    kept = kept_values(lives, passing, leaves)
    loading = [
        LiveRange(number, number, False, registers * REGISTER_BYTES)
        for number, registers in load_registers.items()
    ]
    return RegisterDemand(
        _peak_bytes(kept, held, len(leaves)),
        _peak_bytes(staying, held, len(leaves)),
        _peak_bytes([*kept, *loading], held, len(leaves)),
    )


def _is_local_to_piece(life: LiveRange, pieces: Sequence[range]) -> bool:
    """Whether an array is live in one piece of straight-line code alone, and written first."""
    inside = any(life.first in piece and life.last in piece for piece in pieces)
    return inside and not life.is_read_first and life.last > life.first


def _peak_bytes(lives: Iterable[LiveRange], held: set[int], number_of_leaves: int) -> float:
    steps = [0.0] * (number_of_leaves + 1)
    for life in lives:
        steps[life.first] += life.bytes
        steps[max(life.last, life.first + 1)] -= life.bytes
    most = now = 0.0
    for number, step in enumerate(steps):
        now += step
        if number in held:
            most = max(most, now)
    return most


def _is_scheduling_boundary(leaf: Leaf) -> bool:
    """Whether the compiler cannot move register computations across a statement."""
    return bool(leaf.read_bytes) or leaf.source.per != "thread" or not every(leaf, STRAIGHT)


def _sequential_loops(costs: Sequence[CostNode]) -> list[tuple[int, int, str | None]]:
    """First and last statement of each sequential loop, inner loops first, and its variable.

    The variable is None where the program unrolls the loop.
    """
    found: list[tuple[int, int, str | None]] = []

    def visit(cost: CostNode, number: int) -> int:
        if isinstance(cost, Leaf):
            return number + 1
        after = number
        for child in cost.children:
            after = visit(child, after)
        if after > number and _is_sequential(cost):
            found.append((number, after - 1, _rolled_variable(cost)))
        return after

    number = 0
    for cost in costs:
        number = visit(cost, number)
    return found


def _is_sequential(node: CostNode) -> bool:
    """Whether a node is a loop whose iterations are sequential."""
    if not isinstance(node, LoopCost):
        return isinstance(node, WhileCost)
    return node.source.kind not in _CONCURRENT_KINDS and mean_trip_count(node) != 1


def _rolled_variable(node: CostNode) -> str | None:
    if not isinstance(node, LoopCost):
        return ""
    return None if node.source.kind == "unroll" else node.source.var


def _extend_over_loop(life: LiveRange, low: int, high: int) -> None:
    inside = low <= life.first <= high or low <= life.last <= high
    across = life.first < low or life.last > high
    if inside and (across or life.is_read_first):
        life.first, life.last = min(life.first, low), max(life.last, high)


def find_straight_code(costs: Sequence[CostNode]) -> list[range]:
    """The pieces of straight-line code, as ranges of statement numbers in program order.

    A loop of one iteration does not end a piece.
    """
    found: list[range] = []
    begin = number = 0
    handed: set[str] = set()
    for leaf in _statements(costs):
        belongs = (
            leaf is not None
            and leaf.source.per == "block"
            and isinstance(leaf.source, _ELEMENTWISE_OPS)
        )
        if leaf is None or not belongs or _reads_any(leaf, handed):
            found.append(range(begin, number))
            begin, handed = number, set[str]()
        if leaf is None:
            continue
        number += 1
        handed |= _shared_arrays(leaf, "write")
        if isinstance(leaf.source, Reduce) or not belongs:
            found.append(range(begin, number) if belongs else range(0))
            begin, handed = number, set[str]()
    found.append(range(begin, number))
    return [piece for piece in found if len(piece) > 1]


def _statements(costs: Sequence[CostNode]) -> Iterator[Leaf | None]:
    """The statements in program order; None where a loop or branch starts or ends."""
    for cost in costs:
        if isinstance(cost, Leaf):
            yield cost
            continue
        concurrent = isinstance(cost, LoopCost) and (
            cost.source.kind in _CONCURRENT_KINDS or mean_trip_count(cost) == 1
        )
        in_tile = isinstance(cost, BranchCost) and any(
            loop.kind in CONCURRENT_KINDS for loop in cost.context.loops
        )
        if concurrent or in_tile or _is_unrolled(cost):
            yield from _statements(cost.children)
        else:
            yield None
            yield from _statements(cost.children)
            yield None


def _is_unrolled(cost: CostNode) -> bool:
    """Whether a loop is over elements of register arrays, which have no index."""
    if not isinstance(cost, LoopCost):
        return False
    return all(
        any(
            entry.buffer.scope.startswith(REGISTER_SCOPES)
            and any(cost.source.var in free_variables(index) for index in entry.access.indices)
            for entry in leaf.count.accesses
        )
        for leaf in cost.leaves()
    )


def _reads_any(leaf: Leaf, names: set[str]) -> bool:
    return bool(names) and not names.isdisjoint(_shared_arrays(leaf, "read"))


def _shared_arrays(leaf: Leaf, mode: str) -> set[str]:
    return {
        entry.buffer.alias_of or entry.buffer.id
        for entry in leaf.count.accesses
        if entry.access.mode == mode and entry.buffer.scope.startswith("shared")
    }
