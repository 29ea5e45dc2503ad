"""The loop context of a statement: enclosing loops, ranges of variables, and conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from tirlens_counting.arrays import np, npt
from tirlens_counting.expressions import (
    UNKNOWN_OPERATORS,
    evaluate,
    free_variables,
    is_data_dependent,
    operands,
    simplify,
    substitute,
    walk,
)
from tirlens_counting.intervals import Interval, bounds
from tirlens_worker.facts import Access, Branch, Expr, Let, Loop, Node, Statement, While

from ..constants import constant
from ..dtypes import bits

SECTOR_BYTES = constant(
    "SECTOR_BYTES",
    32,
    kind="isa",
    unit="bytes",
    meaning="Bytes of a transaction of global memory.",
    source='CUDA C++ Programming Guide, "Global Memory"',
)
# Kinds of loops whose iterations run concurrently in one block.
CONCURRENT_KINDS = frozenset({"block", "parallel", "vectorized"})
GRID_KINDS = frozenset({"grid", "cluster"})
THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
WARP = constant(
    "WARP",
    32,
    kind="isa",
    unit="threads",
    meaning="Threads of a warp of NVIDIA; other devices state theirs.",
    source="PTX ISA",
)
WARPGROUP = constant(
    "WARPGROUP",
    128,
    kind="isa",
    unit="threads",
    meaning="Threads of a warpgroup, four warps.",
    source='PTX ISA, "Warpgroup"',
)


# The variables of the loops that enclose the stores to an array, by the id of the array.
StoreLoops = Mapping[str, frozenset[str]]
NO_STORE_LOOPS: StoreLoops = {}
NO_LOOPS: frozenset[str] = frozenset()
DIVISIONS = frozenset({"//", "%", "truncdiv", "truncmod"})

# A loop (its variable, start and extent) or a condition (no variable) on the way to a statement.
PathStep = tuple[str, Expr, Expr]


@dataclass(frozen=True)
class EnclosingLoop:
    """A loop that encloses a statement.

    Attributes
    ----------
    var
        The loop variable.
    kind
        The kind of the loop, as the compiler makes it.
    extent
        The largest trip count; None where not known.
    tag
        The thread or block axis that the loop is bound to.
    """

    var: str
    kind: str
    extent: int | None
    tag: str | None = None

    @property
    def trip_count(self) -> int:
        """The largest trip count; 1 where it is not known."""
        return self.extent or 1


@dataclass(frozen=True)
class LoopContext:
    """The loops and conditions that enclose a statement.

    Attributes
    ----------
    loops
        The loops, outermost first.
    ranges
        The inclusive range of each variable.
    lets
        The values of names.
    conditions
        The conditions under which the statement is reached.
    path
        The sequential loops and the conditions in the order of their nesting.
    warp_size
        The threads of a warp of the device, 64 on CDNA.
    """

    loops: tuple[EnclosingLoop, ...]
    ranges: Mapping[str, Interval]
    lets: Mapping[str, Expr]
    conditions: tuple[Expr, ...] = ()
    path: tuple[PathStep, ...] = ()
    warp_size: int = WARP

    @cached_property
    def first_values(self) -> Mapping[str, int]:
        """The first value of each variable."""
        return {
            name: int(reach[0]) if math.isfinite(reach[0]) else 0
            for name, reach in self.ranges.items()
        }

    @cached_property
    def first_warp(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """The values of the thread variables in the lanes of the first warp."""
        threads = {loop.tag: loop for loop in self.loops if loop.kind == "block" and loop.tag}
        loops = [threads[tag] for tag in THREADS if tag in threads]
        axes = tuple((loop.var, loop.extent) for loop in loops if loop.extent)
        return _lanes(axes, self.warp_size)

    @cached_property
    def first_warp_lanes(self) -> int:
        """How many threads the first warp has."""
        return next((len(values) for values in self.first_warp.values()), self.warp_size)

    @cached_property
    def first_warp_values(self) -> Mapping[str, Any]:
        """The first values of all variables, those of the threads in the first warp's lanes."""
        return {**self.first_values, **self.first_warp}

    @cached_property
    def extents(self) -> Mapping[str, int]:
        """The extents of the loops, unknown ones counted 1."""
        return {loop.var: loop.trip_count for loop in self.loops}

    @cached_property
    def unrolled_iterations(self) -> int:
        """The product of the trip counts of the enclosing unrolled loops."""
        return math.prod(loop.trip_count for loop in self.loops if loop.kind == "unroll")

    @cached_property
    def sequential_trip_counts(self) -> Mapping[str, int]:
        """The trip counts of the enclosing sequential loops, unrolled ones included."""
        concurrent = GRID_KINDS | CONCURRENT_KINDS
        return {loop.var: loop.trip_count for loop in self.loops if loop.kind not in concurrent}

    @cached_property
    def sequential_iterations(self) -> int:
        """The product of the trip counts of the enclosing loops that are sequential in code."""
        concurrent = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}
        return math.prod(loop.trip_count for loop in self.loops if loop.kind not in concurrent)

    @cached_property
    def condition_data_loads(self) -> tuple[tuple[Any, ...], ...]:
        """The loads and unknown values in the enclosing conditions."""
        return tuple(
            dict.fromkeys(part for one in self.conditions for part in self.data_loads(one))
        )

    def data_loads(self, expr: Expr) -> list[tuple[Any, ...]]:
        """The loads and unknown values in an expression."""
        resolved = self.resolve(expr)
        if not is_data_dependent(resolved):
            return []
        return [
            part
            for part in walk(resolved)
            if isinstance(part, tuple) and part[0] in UNKNOWN_OPERATORS
        ]

    def in_loop(self, loop: Loop, counted: int | None = None) -> LoopContext:
        """The context of a loop's body; `counted` is its trip count where its extent is data."""
        length = self.resolve(loop.extent)
        if counted is not None and is_data_dependent(length):
            length = counted
        extent = bounds(length, self.ranges)[1]
        count = max(int(extent), 0) if math.isfinite(extent) else None
        enclosing = EnclosingLoop(loop.var, loop.kind, count, loop.tag)
        start, lets = self.resolve(loop.start), self.lets
        value = self.value_in_iteration(loop)
        if value is not None:
            start, lets = 0, {**lets, loop.var: value}
        first, last = bounds(start, self.ranges)
        ranges = {**self.ranges, loop.var: (first, last + max(extent - 1, 0))}
        steps = self.path
        if loop.kind not in GRID_KINDS | CONCURRENT_KINDS:
            steps = (*steps, (loop.var, start, length))
        return replace(self, loops=(*self.loops, enclosing), ranges=ranges, lets=lets, path=steps)

    def value_in_iteration(self, loop: Loop) -> Expr | None:
        """The value of a loop's variable, where the variable itself numbers the iterations.

        None where the variable has its value: it advances by one, from a number or from data.
        """
        start, step = self.resolve(loop.start), self.resolve(loop.step)
        if is_data_dependent(start) or is_data_dependent(step):
            return None
        if step == 1 and not free_variables(start):
            return None
        return ("+", start, loop.var if step == 1 else ("*", step, loop.var))

    def in_while(self, name: str, trip_count: int) -> LoopContext:
        """The context inside a while loop with a mean trip count of `trip_count`."""
        enclosing = EnclosingLoop(name, "serial", trip_count)
        ranges = {**self.ranges, name: (0, max(trip_count - 1, 0))}
        return replace(self, loops=(*self.loops, enclosing), ranges=ranges)

    def under_condition(self, condition: Expr) -> LoopContext:
        """The context of a side of a branch, where `condition` holds."""
        condition = self.resolve(condition)
        steps = (*self.path, ("", condition, 0))
        return replace(self, conditions=(*self.conditions, condition), path=steps)

    def with_let(self, let: Let) -> LoopContext:
        """The context in which a name has a value."""
        lets = {**self.lets, let.var: substitute(let.value, self.lets)}
        return replace(self, lets=lets)

    def resolve(self, expr: Expr) -> Expr:
        """`expr` with names replaced by their values."""
        if isinstance(expr, tuple):
            return substitute(expr, self.lets) if self.lets else expr
        return self.lets.get(expr, expr) if isinstance(expr, str) else expr

    def first_value(self, expr: Expr) -> Any:
        """`expr` with every variable at its first value.

        Raises:
            UnknownValueError: it depends on data or on a variable without a range.
        """
        return expr if isinstance(expr, int) else evaluate(self.resolve(expr), self.first_values)


@lru_cache(maxsize=128)
def _lanes(
    axes: tuple[tuple[str, int], ...], warp_size: int
) -> Mapping[str, npt.NDArray[np.int64]]:
    """Each variable, the fastest first, in the lanes of a block's first warp."""
    threads = math.prod(extent for _, extent in axes)
    lane = np.arange(min(threads, warp_size) if axes else warp_size, dtype=np.int64)
    values: dict[str, npt.NDArray[np.int64]] = {}
    for name, extent in axes:
        values[name] = lane % extent
        lane = lane // extent
    return values


def kernel_context(bindings: Mapping[str, int], warp_size: int = WARP) -> LoopContext:
    """The context of a kernel's body, with the values of its shape variables."""
    ranges = {name: (value, value) for name, value in bindings.items()}
    return LoopContext((), ranges, {}, warp_size=warp_size)


def body_context(node: Node, trips: int | None, context: LoopContext) -> LoopContext:
    """The context of the body of a loop or while loop; that of any other node is its own.

    `trips` is the counted trip count.
    """
    if isinstance(node, Loop):
        return context.in_loop(node, trips)
    if isinstance(node, While):
        return context.in_while(node.var or f"while {id(node)}", trips or 1)
    return context


def dtype_bytes(dtype: str) -> float:
    """The size of one element: 2 for ``float16``, 16 for ``float32x4``, 0.5 for ``int4``."""
    return (bits(dtype) or 32) / 8


def find_store_loops(nodes: Sequence[Node]) -> StoreLoops:
    """The loops that enclose the stores to each array, by its id."""
    found: dict[str, frozenset[str]] = {}
    _collect_store_loops(nodes, NO_LOOPS, found)
    return found


def _collect_store_loops(
    nodes: Sequence[Node], loops: frozenset[str], found: dict[str, frozenset[str]]
) -> None:
    for node in nodes:
        if isinstance(node, Statement):
            for access in node.accesses:
                if access.mode != "read":
                    found[access.buffer] = found.get(access.buffer, NO_LOOPS) | loops
        elif isinstance(node, Loop):
            _collect_store_loops(node.body, loops | {node.var}, found)
        elif isinstance(node, While):
            _collect_store_loops(node.body, loops | {node.var} if node.var else loops, found)
        elif isinstance(node, Branch):
            _collect_store_loops(node.then, loops, found)
            _collect_store_loops(node.orelse, loops, found)


def reassigning_loops(index: Expr, context: LoopContext, set_in: StoreLoops) -> frozenset[str]:
    """The loops in which the loaded elements of `index` are stored again."""
    stored = NO_LOOPS.union(*(set_in.get(str(load[1]), NO_LOOPS) for load in loads_of(index)))
    return stored & context.extents.keys()


def has_known_offset(access: Access, index: Expr, context: LoopContext, set_in: StoreLoops) -> bool:
    """Whether the offset of a data-dependent index is the same in all threads.

    It is not where threads compute the data themselves, unless TMA copies them in this iteration.
    """
    sequential = {
        loop.var for loop in context.loops if loop.kind not in GRID_KINDS | CONCURRENT_KINDS
    }
    return all(
        str(load[1]) not in set_in or (access.route == "tma" and set_in[str(load[1])] & sequential)
        for load in loads_of(index)
    )


def loads_of(index: Expr) -> Iterator[tuple[Any, ...]]:
    """The loads in an index, and other values that are not known before the run."""
    for part in walk(index):
        if isinstance(part, tuple) and part[0] in UNKNOWN_OPERATORS:
            yield part


def drop_loads(index: Expr, loads: Callable[[tuple[Any, ...]], bool] = lambda load: True) -> Expr:
    """`index` with 0 for the loads for which `loads` holds: as if a loaded offset were 0.

    A division by a load is left out too: the load is a size, and all that is counted fits in it.
    """
    if not isinstance(index, tuple):
        return index
    if index[0] in UNKNOWN_OPERATORS and loads(index):
        return 0
    parts = operands(index)
    inner = tuple(drop_loads(operand, loads) for operand in parts)
    if index[0] in DIVISIONS and inner != parts and simplify(inner[1]) == 0:
        return 0 if index[0] in ("//", "truncdiv") else inner[0]
    return index[: len(index) - len(parts)] + inner


def is_in_tile_loop(context: LoopContext) -> bool:
    """Whether a statement is in a tile loop, whose iterations are distributed over the threads."""
    return any(loop.kind == "parallel" for loop in context.loops)
