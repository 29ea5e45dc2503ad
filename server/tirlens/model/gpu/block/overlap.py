"""What runs beside what: copies and products that are only started, mixed instructions, warpgroups.

A copy by TMA or cp.async, a load into registers that are read later, and a matrix product with its
wait apart (``wgmma_gemm``) take their time while the next statements run; whoever needs the result
first waits for what is left.  Between barriers the compiler and the warps of a block mix the
instructions of all statements, so that their time is that of the unit with the most to do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Gemm, Loop, Mma, Statement

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS, WARPGROUP
from ...tree.node import CostNode
from ...tree.timed_node import BusyBeside, BusyOf, TimedNode
from ...tree.traits import (
    COPIES,
    EVENT,
    LOADS_REGISTERS,
    PRODUCT,
    SHARED,
    STARTED,
    STRAIGHT,
    every,
    only,
    some,
)
from .chains import longest_chain_s

# Two warpgroups that share a loop, each with its own rows, are at different parts of it about half
# of the time, and then use different units: tilelang's attention kernels on an H800 reach 549 and
# 401 TFLOP/s where the sum of the parts gives 447 and 310.
DRIFT = 0.5
# Of one matrix instruction of a warpgroup (PTX ISA, ``wgmma.mma_async``: m64).
MATRIX_ROWS = 64
# Starting matrix instructions takes some issue slots even when nobody waits for them: an estimate,
# of a tenth of the time that they take, for their descriptors and fences.
STARTED_SHARE = 0.1


def settled(
    items: Sequence[CostNode], timed: Sequence[TimedNode], device: Device, repeats: float
) -> tuple[TimedNode, ...]:
    """The times of siblings, with the waits for what some of them start for others."""
    if not any(map(_is_waited_for, items)):
        return tuple(timed)
    out = list(timed)
    readers = _Readers(items)
    for number, item in enumerate(items):
        if _starts_copy(item):
            later = readers.first(number, _written(item, "shared"))
            if later is not None:
                between = sum(part.total_s for part in timed[number + 1 : later])
                left = max(device.dram.latency_s * repeats - between, 0.0)
                out[number] = TimedNode(item, out[number].own_s + left, out[number].children)
        elif only(item, LOADS_REGISTERS):
            later = readers.first(number, _written(item, "local"))
            if later is not None:
                between = sum(part.total_s for part in timed[number + 1 : later])
                total = out[number].total_s
                if total:
                    kept = max(total - between, STARTED_SHARE * total)
                    out[number] = out[number].scale(kept / total)
        elif _starts_product(item):
            later = readers.first(number, _written(item, "local"))
            end = len(items) if later is None else later
            beside = sum(
                part.total_s
                for other, part in zip(
                    items[number + 1 : end], timed[number + 1 : end], strict=True
                )
                if not some(other, PRODUCT)
            )
            total = out[number].total_s
            if total:
                kept = max(total - beside, STARTED_SHARE * total)
                out[number] = out[number].scale(kept / total)
    return tuple(out)


def released(timed: TimedNode) -> TimedNode:
    """A loop that starts products which a barrier tells the end of, beside what else it does."""
    if timed.node is not None and not some(timed.node, EVENT):
        return timed
    products = sum(part.own_s for part in _started(timed))
    others = timed.total_s - products
    if not products:
        return timed
    return _kept(timed, max(products - others, STARTED_SHARE * products) / products)


def _started(timed: TimedNode) -> Iterator[TimedNode]:
    if _is_asynchronous(timed):
        yield timed
    for child in timed.children:
        yield from _started(child)


def _kept(timed: TimedNode, share: float) -> TimedNode:
    own = timed.own_s * share if _is_asynchronous(timed) else timed.own_s
    return TimedNode(timed.node, own, tuple(_kept(child, share) for child in timed.children))


def _is_asynchronous(timed: TimedNode) -> bool:
    node = None if timed.node is None else timed.node.source
    return isinstance(node, Mma) and node.is_asynchronous


def is_straight(item: CostNode) -> bool:
    """Whether a node is code of single threads, or of a tile loop, without a barrier."""
    return every(item, STRAIGHT)


def mixed(timed: Sequence[TimedNode], busy_beside: BusyBeside) -> tuple[TimedNode, ...]:
    """Runs of straight code take as long as their busiest unit, not as the sum of their parts.

    Nor do they wait for each part, but along their longest chain.
    """
    out: list[TimedNode] = []
    run: list[TimedNode] = []
    stored: set[str] = set()
    for part in timed:
        item = part.node
        straight = item is not None and is_straight(item)
        if item is None or not straight or (stored and stored & set(_read(item, "shared"))):
            out.extend(_mixed_run(run, busy_beside))
            run, stored = [], set()
        if item is None or not straight:
            out.append(part)
        else:
            run.append(part)
            if some(item, SHARED):
                stored.update(_written(item, "shared"))
    return (*out, *_mixed_run(run, busy_beside))


def _mixed_run(run: Sequence[TimedNode], busy_beside: BusyBeside) -> tuple[TimedNode, ...]:
    def waits_s(part: TimedNode) -> float:
        assert part.node is not None
        return max(part.own_s - busy_beside(part.node, 1.0).longest_s, 0.0)

    statements = [part for one in run for part in _statements(one)]
    waited_s = sum(map(waits_s, statements))
    chain_s = longest_chain_s(run, waits_s) if waited_s else 0.0
    beside = waited_s / chain_s if chain_s else 1.0
    units: dict[str, float] = {}
    apart = 0.0
    for part in statements:
        assert part.node is not None
        apart += busy_beside(part.node, 1.0).longest_s
        for name, seconds in busy_beside(part.node, beside).units.items():
            units[name] = units.get(name, 0.0) + seconds
    kept = max(units.values()) / apart if apart else 1.0
    if kept == 1.0 and beside == 1.0:
        return tuple(run)
    return tuple(_shortened(part, kept, 1 / beside, busy_beside) for part in run)


def _statements(part: TimedNode) -> Iterator[TimedNode]:
    if part.node is not None and isinstance(part.node.source, Statement):
        yield part
    for child in part.children:
        yield from _statements(child)


def _shortened(part: TimedNode, kept: float, waits: float, busy_beside: BusyBeside) -> TimedNode:
    """A part with these shares of the time that its units are busy, and of its waits."""
    own = part.own_s
    if part.node is not None and isinstance(part.node.source, Statement):
        busy_s = min(busy_beside(part.node, 1.0).longest_s, own)
        own = kept * busy_s + waits * (own - busy_s)
    children = tuple(_shortened(child, kept, waits, busy_beside) for child in part.children)
    return TimedNode(part.node, own, children)


def drifted(item: CostNode, timed: TimedNode, busy_of: BusyOf) -> TimedNode:
    """A loop of which two or more warpgroups do their own rows, out of step with each other.

    Wholly so, they would take the time of the busiest unit; in step, that of all parts in turn.
    """
    node = item.source
    if (
        not isinstance(node, Loop)
        or node.kind in GRID_KINDS | CONCURRENT_KINDS
        or not some(item, PRODUCT)
    ):
        return timed
    threads = _threads_of(item)
    if threads < 2 * WARPGROUP:
        return timed
    if not any(_product_seconds(timed)) or not _has_own_rows(item, threads // WARPGROUP):
        return timed
    units: dict[str, float] = {}
    for leaf in item.leaves():
        for name, seconds in busy_of(leaf).units.items():
            if name not in ("dram", "l2"):
                units[name] = units.get(name, 0.0) + seconds
    apart = max(timed.total_s - max(units.values(), default=0.0), 0.0)
    return timed.scale(1 - DRIFT * apart / timed.total_s)


def _threads_of(item: CostNode) -> int:
    """The threads of the role that a node belongs to."""
    return max((leaf.threads for leaf in item.leaves()), default=1)


def _has_own_rows(item: CostNode, groups: int) -> bool:
    """Whether products have rows for each warpgroup.

    Groups that share rows have parts of their columns, and wait for each other to put the parts of
    a row together.
    """
    shapes = [entry.arith.shape for leaf in item.leaves() for entry in leaf.count.arith]
    rows = [shape[0] for shape in shapes if shape and isinstance(shape[0], int)]
    return min(rows, default=0) >= MATRIX_ROWS * groups


def _product_seconds(timed: TimedNode) -> Iterator[float]:
    if timed.node is not None and _is_product(timed.node):
        yield timed.total_s
    for child in timed.children:
        yield from _product_seconds(child)


def _is_product(item: CostNode) -> bool:
    return isinstance(item.source, Gemm)


def _is_waited_for(item: CostNode) -> bool:
    """Whether a node may start what a later one waits for."""
    of_all, of_some = item.traits
    return bool(
        of_all & of_some & LOADS_REGISTERS
        or (of_some & PRODUCT and of_all & STARTED)
        or (of_some & COPIES and isinstance(item.source, Statement))
    )


def _starts_copy(item: CostNode) -> bool:
    """Whether a node starts copies, which nothing in it reads."""
    if isinstance(item.source, Statement) or not some(item, COPIES):
        return some(item, COPIES)
    return not set(_written(item, "shared")) & set(_read(item, "shared"))


def _starts_product(item: CostNode) -> bool:
    """Whether a node, perhaps on two sides of a branch, only starts products."""
    return some(item, PRODUCT) and every(item, STARTED)


def _read(item: CostNode, scope: str) -> Iterator[str]:
    for leaf in item.leaves():
        for entry in leaf.count.accesses:
            if entry.access.mode == "read" and entry.buffer.scope.startswith(scope):
                yield entry.access.buffer


def _written(item: CostNode, scope: str) -> Iterator[str]:
    for leaf in item.leaves():
        for entry in leaf.count.accesses:
            if entry.access.mode != "read" and entry.buffer.scope.startswith(scope):
                yield entry.access.buffer


class _Readers:
    """Which of some siblings read each buffer, products that add to their own registers apart."""

    def __init__(self, items: Sequence[CostNode]) -> None:
        self._items = items

    def first(self, number: int, targets: Iterable[str]) -> int | None:
        """The first sibling behind `number` that reads one of `targets`."""
        later = [
            places[place]
            for name in targets
            if (places := self._places.get(name))
            and (place := bisect_right(places, number)) < len(places)
        ]
        return min(later, default=None)

    @cached_property
    def _places(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, item in enumerate(self._items):
            for name in set(_waited_for(item)):
                found.setdefault(name, []).append(number)
        return found


def _waited_for(item: CostNode) -> Iterator[str]:
    for leaf in item.leaves():
        product = _is_product(leaf)
        for entry in leaf.count.accesses:
            own = product and entry.buffer.scope.startswith("local")
            if entry.access.mode != "write" and not own:
                yield entry.access.buffer
