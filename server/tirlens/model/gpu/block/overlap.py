"""Overlap of asynchronous operations, and of warpgroups that are not synchronised.

A copy by TMA or cp.async, a load into registers that later code reads, and a matrix product whose
wait is a statement of its own (``wgmma_gemm``) run while the next statements do.  The first
statement that needs the result waits for the rest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tirlens_worker.facts import Gemm, Loop, Mma

from ...constants import constant
from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, WARPGROUP
from ...tree.moved import MemoryState
from ...tree.node import CostNode, Leaf
from ...tree.timed_node import TimedNode
from ...tree.traits import (
    COPIES,
    EVENT,
    LOADS_REGISTERS,
    PRODUCT,
    STARTED,
    every,
    only,
    some,
)
from ..compiler.matrix_instructions import WGMMA_ROWS
from .dependency_chains import read_arrays, written_arrays
from .throughput import BlockContext, busy_time

WARPGROUP_OVERLAP = constant(
    "WARPGROUP_OVERLAP",
    0.5,
    kind="fitted",
    unit="fraction",
    meaning=(
        "The share of their greatest possible overlap that two warpgroups reach which share a "
        "loop, each with its own rows. They are at different parts of the loop about half of "
        "the time, and then use different units."
    ),
    source=(
        "tilelang's attention kernels on an H800 reach 549 and 401 TFLOP/s where the sum of "
        "the parts gives 447 and 310"
    ),
    rows="tilelang attention on an H800 (`tests/measured/tilelang_attention.csv`)",
)
ISSUE_SHARE = constant(
    "ISSUE_SHARE",
    0.1,
    kind="estimate",
    unit="fraction",
    meaning=(
        "The share of its time that an asynchronous operation still takes of the warps that "
        "start it, for descriptors and fences."
    ),
)


def overlap_asynchronous(
    nodes: Sequence[CostNode], timed: Sequence[TimedNode], memory: MemoryState, executions: float
) -> tuple[TimedNode, ...]:
    """The times of siblings, with asynchronous operations overlapped by the statements after them.

    Parameters
    ----------
    nodes : sequence of CostNode
        Siblings.
    timed : sequence of TimedNode
        Their times, in the same order, interleaved but without overlap.
    memory : MemoryState
        The memory, for the latency of copies.
    executions : float
        How often a block executes the siblings.
    """
    if not any(map(_may_be_asynchronous, nodes)):
        return tuple(timed)
    readers = _Readers(nodes)
    out = _wait_for_copies(readers, timed, memory, executions, _is_asynchronous_copy)
    for number, node in enumerate(nodes):
        if _is_asynchronous_copy(node):
            continue
        if only(node, LOADS_REGISTERS):
            reader = readers.first_after(number, written_arrays(node, "local"))
            if reader is not None:
                between_s = sum(part.total_s for part in timed[number + 1 : reader])
                out[number] = _overlapped_by(out[number], between_s)
        elif _is_asynchronous_product(node):
            reader = readers.first_after(number, written_arrays(node, "local"))
            end = len(nodes) if reader is None else reader
            between_s = sum(
                part.total_s
                for other, part in zip(
                    nodes[number + 1 : end], timed[number + 1 : end], strict=True
                )
                if not some(other, PRODUCT)
            )
            out[number] = _overlapped_by(out[number], between_s)
    return tuple(out)


def wait_for_copies(
    nodes: Sequence[CostNode],
    timed: Sequence[TimedNode],
    memory: MemoryState,
    executions: float,
    is_copy: Callable[[CostNode], bool],
) -> list[TimedNode]:
    """The times of siblings with the latency of copies that the code before a reader leaves.

    `is_copy` says which siblings start copies; the others are those of `overlap_asynchronous`.
    """
    return _wait_for_copies(_Readers(nodes), timed, memory, executions, is_copy)


def _wait_for_copies(
    readers: _Readers,
    timed: Sequence[TimedNode],
    memory: MemoryState,
    executions: float,
    is_copy: Callable[[CostNode], bool],
) -> list[TimedNode]:
    out = list(timed)
    for number, node in enumerate(readers.nodes):
        if not is_copy(node):
            continue
        reader = readers.first_after(number, written_arrays(node, "shared"))
        if reader is not None:
            between_s = sum(part.total_s for part in timed[number + 1 : reader])
            wait_s = max(memory.dram_latency_s * executions - between_s, 0.0)
            out[number] = _add_copy_wait(out[number], wait_s)
    return out


def register_prefetches(nodes: Sequence[CostNode]) -> frozenset[int]:
    """The numbers of the siblings that load into registers which a later sibling reads."""
    loads = [number for number, node in enumerate(nodes) if only(node, LOADS_REGISTERS)]
    if not loads:
        return frozenset()
    readers = _Readers(nodes)
    return frozenset(
        number
        for number in loads
        if readers.first_after(number, written_arrays(nodes[number], "local")) is not None
    )


def _add_copy_wait(part: TimedNode, wait_s: float) -> TimedNode:
    """A node with the wait for its copies, at the first copy inside."""
    children = list(part.children)
    for number, child in enumerate(children):
        if child.node is not None and some(child.node, COPIES):
            children[number] = _add_copy_wait(child, wait_s)
            return TimedNode(part.node, part.own_s, tuple(children))
    return TimedNode(part.node, part.own_s + wait_s, part.children)


def _overlapped_by(part: TimedNode, other_s: float) -> TimedNode:
    """A node of which other code overlaps `other_s`, except for the issue of its instructions."""
    total_s = part.total_s
    if not total_s:
        return part
    return part.scale(max(total_s - other_s, ISSUE_SHARE * total_s) / total_s)


def overlap_products_with_loop(loop: TimedNode) -> TimedNode:
    """A loop with the matrix products that arrive at a barrier overlapped by its other code."""
    if loop.node is not None and not some(loop.node, EVENT):
        return loop
    products_s = sum(part.own_s for part in _asynchronous_products(loop))
    others_s = loop.total_s - products_s
    if not products_s:
        return loop
    exposed_s = max(products_s - others_s, ISSUE_SHARE * products_s)
    return _scale_products(loop, exposed_s / products_s)


def _asynchronous_products(timed: TimedNode) -> Iterator[TimedNode]:
    if _arrives_at_barrier(timed):
        yield timed
    for child in timed.children:
        yield from _asynchronous_products(child)


def _scale_products(timed: TimedNode, factor: float) -> TimedNode:
    own_s = timed.own_s * factor if _arrives_at_barrier(timed) else timed.own_s
    children = tuple(_scale_products(child, factor) for child in timed.children)
    return TimedNode(timed.node, own_s, children)


def _arrives_at_barrier(timed: TimedNode) -> bool:
    """Whether a node is a matrix product whose end a barrier signals."""
    source = None if timed.node is None else timed.node.source
    return isinstance(source, Mma) and source.is_asynchronous


def overlap_warpgroups(node: CostNode, timed: TimedNode, context: BlockContext) -> TimedNode:
    """A loop with the warpgroups overlapped that each have rows of its matrix products.

    With full overlap it would take the time of its busiest unit, with none the sum of its parts.
    """
    loop = node.source
    if (
        not isinstance(loop, Loop)
        or loop.kind in GRID_KINDS | CONCURRENT_KINDS
        or not some(node, PRODUCT)
    ):
        return timed
    threads = max((leaf.threads for leaf in node.leaves()), default=1)
    if threads < 2 * WARPGROUP:
        return timed
    if not any(_product_times_s(timed)) or not _have_own_rows(node, threads // WARPGROUP):
        return timed
    units: dict[str, float] = {}
    for leaf in node.leaves():
        for name, busy_s in busy_time(leaf, context).unit_s.items():
            if name not in ("dram", "l2"):
                units[name] = units.get(name, 0.0) + busy_s
    overlappable_s = max(timed.total_s - max(units.values(), default=0.0), 0.0)
    return timed.scale(1 - WARPGROUP_OVERLAP * overlappable_s / timed.total_s)


def _have_own_rows(node: CostNode, warpgroups: int) -> bool:
    """Whether the products in a node have rows for each warpgroup.

    Warpgroups that share rows have parts of their columns.  They synchronise to combine the parts
    of a row.
    """
    shapes = [entry.arith.shape for leaf in node.leaves() for entry in leaf.count.arith]
    rows = [shape[0] for shape in shapes if shape and isinstance(shape[0], int)]
    return min(rows, default=0) >= WGMMA_ROWS * warpgroups


def _product_times_s(timed: TimedNode) -> Iterator[float]:
    if timed.node is not None and isinstance(timed.node.source, Gemm):
        yield timed.total_s
    for child in timed.children:
        yield from _product_times_s(child)


def _may_be_asynchronous(node: CostNode) -> bool:
    """Whether a node may start an operation that a later sibling waits for."""
    of_all, of_some = node.traits
    return bool(
        of_all & of_some & LOADS_REGISTERS
        or (of_some & PRODUCT and of_all & STARTED)
        or (of_some & COPIES and isinstance(node, Leaf))
    )


def _is_asynchronous_copy(node: CostNode) -> bool:
    """Whether a node starts copies that nothing inside it reads."""
    if isinstance(node, Leaf) or not some(node, COPIES):
        return some(node, COPIES)
    return not set(written_arrays(node, "shared")) & set(read_arrays(node, "shared"))


def _is_asynchronous_product(node: CostNode) -> bool:
    """Whether a node only starts products, perhaps on both sides of a branch."""
    return some(node, PRODUCT) and every(node, STARTED)


class _Readers:
    """Which siblings read each array.

    A product that accumulates in its own registers does not count as their reader.
    """

    def __init__(self, nodes: Sequence[CostNode]) -> None:
        self.nodes = nodes

    def first_after(self, number: int, arrays: Iterable[str]) -> int | None:
        """The first sibling after `number` that reads one of `arrays`."""
        readers = [
            numbers[index]
            for name in arrays
            if (numbers := self._numbers.get(name))
            and (index := bisect_right(numbers, number)) < len(numbers)
        ]
        return min(readers, default=None)

    @cached_property
    def _numbers(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            for name in set(_operands(node)):
                found.setdefault(name, []).append(number)
        return found


def _operands(node: CostNode) -> Iterator[str]:
    """The arrays that a node reads, without the accumulators of its products."""
    for leaf in node.leaves():
        is_product = isinstance(leaf.source, Gemm)
        for entry in leaf.count.accesses:
            is_accumulator = is_product and entry.buffer.scope.startswith("local")
            if entry.access.mode != "write" and not is_accumulator:
                yield entry.access.buffer
