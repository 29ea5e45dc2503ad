"""The innermost loops that LLVM generates code for, after full unrolling and vectorization.

LLVM unrolls a short loop of known trip count in full before it vectorizes, so that the loop around
it becomes the innermost one (`unrolling`).  It vectorizes an innermost loop whose iterations are
independent (`vectorization`).  A floating-point sum is not, because its order matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from tirlens.hardware.spec import Device
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Buffer

from ...tree.context import EnclosingLoop
from ...tree.node import CostNode, Leaf, LoopCost, leaves_of
from .statements import Address, NestStatement, address_of
from .unrolling import Addresses, FullUnrolling, without_branches
from .vectorization import is_vectorizable

Loops = tuple[EnclosingLoop, ...]


@dataclass(frozen=True)
class Nest:
    """Statements of one innermost loop, or straight-line code.

    Attributes
    ----------
    loop
        The innermost loop; None for straight-line code.
    outer_loops
        The loops around it, from the outside in.
    statements
        The statements, in program order.
    is_vectorized
        Whether the compiler vectorizes the innermost loop.
    """

    loop: EnclosingLoop | None
    outer_loops: Loops
    statements: tuple[NestStatement, ...]
    is_vectorized: bool

    @property
    def loops(self) -> Loops:
        """All loops of the nest, from the outside in."""
        return self.outer_loops + ((self.loop,) if self.loop else ())

    @property
    def trip_count(self) -> int:
        """Iterations of the innermost loop each time it is entered; 1 for straight-line code."""
        return self.loop.trip_count if self.loop else 1

    @cached_property
    def is_contiguous(self) -> bool:
        """Whether each address is invariant or contiguous in the innermost loop."""
        assert self.loop is not None
        return all(
            abs(statement.stride_bytes(address, self.loop.var) or 0) in (0, address.access_bytes)
            for statement in self.statements
            for address in statement.addresses
        )


@dataclass(frozen=True)
class CompiledKernel:
    """The loop nests of a kernel.

    Attributes
    ----------
    nests
        The nests, in program order.
    allocation_loops
        The loops in which TVM allocates each array that is no parameter, by array.
    """

    nests: tuple[Nest, ...]
    allocation_loops: Mapping[str, Loops]


def compile_loops(
    nodes: Sequence[CostNode],
    buffers: Mapping[str, Buffer],
    shapes: Mapping[str, Sequence[int]],
    device: Device,
) -> CompiledKernel:
    """The loop nests that LLVM makes of a kernel for a CPU.

    Parameters
    ----------
    nodes
        The body of the kernel, counted.
    buffers, shapes
        The kernel's arrays and their shapes in elements, by name.
    device
        The device, a CPU.
    """
    assert device.cpu is not None
    allocation = allocation_loops(nodes, buffers)
    elements = compact_elements(nodes, buffers, allocation)
    finder = _NestFinder(buffers, shapes, device.simd_bytes, device.cpu.vector_bytes, elements)
    return CompiledKernel(tuple(finder.nests(nodes)), allocation)


class _NestFinder:
    """Finds the nests of a kernel's tree.

    The widest registers have `register_bytes`, vectors of vectorized loops `vector_bytes`.
    `elements` are the sizes of compacted arrays.
    """

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        shapes: Mapping[str, Sequence[int]],
        register_bytes: int,
        vector_bytes: int,
        elements: Mapping[str, int],
    ) -> None:
        self._buffers = buffers
        self._shapes = shapes
        self._vector_bytes = vector_bytes
        self._elements = elements
        self._unrolling = FullUnrolling(self._addresses, register_bytes)
        self._known: dict[int, Addresses] = {}

    def nests(self, nodes: Sequence[CostNode], outer_loops: Loops = ()) -> Iterator[Nest]:
        """The nests of `nodes` inside of `outer_loops`, in program order."""
        straight: list[Leaf] = []
        for node in without_branches(nodes):
            if not isinstance(node, LoopCost) or self._unrolling.is_unrolled(node):
                straight += node.leaves()
                continue
            yield from self._straight_line(straight, outer_loops)
            straight = []
            loops = _with_loop(node, outer_loops)
            if loops is None:
                continue
            if all(map(self._unrolling.is_unrolled, without_branches(node.children))):
                statements = tuple(self._statement(leaf, len(loops)) for leaf in node.leaves())
                loop = loops[len(outer_loops)]
                is_vectorized = is_vectorizable(loop, statements, self._vector_bytes)
                yield Nest(loop, outer_loops, statements, is_vectorized)
            else:
                yield from self.nests(node.children, loops)
        yield from self._straight_line(straight, outer_loops)

    def _straight_line(self, nodes: Sequence[Leaf], outer_loops: Loops) -> Iterator[Nest]:
        if nodes:
            depth = len(outer_loops)
            statements = tuple(self._statement(node, depth) for node in nodes)
            yield Nest(None, outer_loops, statements, False)

    def _statement(self, node: Leaf, depth: int) -> NestStatement:
        """A statement whose nest has `depth` loops."""
        reads, writes = self._addresses(node)
        return NestStatement(node, reads, writes, node.context.loops[depth:])

    def _addresses(self, node: Leaf) -> Addresses:
        """The addresses that a statement reads and writes."""
        if id(node) not in self._known:
            self._known[id(node)] = self._read_addresses(node)
        return self._known[id(node)]

    def _read_addresses(self, node: Leaf) -> Addresses:
        reads: list[Address] = []
        writes: list[Address] = []
        for entry in node.count.accesses:
            access = entry.access
            shape = tuple(self._shapes.get(access.buffer, ()))
            if len(shape) != len(access.indices):
                continue
            address = address_of(access, self._buffers[access.buffer], shape, node.context)
            elements = self._elements.get(access.buffer)
            if elements is not None:
                element_bytes = address.access_bytes // max(access.lanes, 1)
                array_bytes = min(address.array_bytes, elements * element_bytes)
                address = replace(address, array_bytes=array_bytes)
            if access.mode != "write":
                _add_read(reads, address)
            if access.mode != "read" and address not in writes:
                writes.append(address)
        return tuple(reads), tuple(writes)


def _add_read(reads: list[Address], address: Address) -> None:
    """Adds an address; of one that is read several times the longest path stays."""
    if address not in reads:
        reads.append(address)
        return
    known = reads.index(address)
    if len(address.path or ()) > len(reads[known].path or ()):
        reads[known] = address


def _with_loop(node: CostNode, outer_loops: Loops) -> Loops | None:
    """`outer_loops` and the loop of `node`; None of an empty loop."""
    loops = node.children[0].context.loops if node.children else ()
    return loops[: len(outer_loops) + 1] if len(loops) > len(outer_loops) else None


def allocation_loops(nodes: Sequence[CostNode], buffers: Mapping[str, Buffer]) -> dict[str, Loops]:
    """The loops around all uses of each array that is no parameter, in which TVM allocates it."""
    common: dict[str, Loops] = {}
    for leaf in leaves_of(nodes):
        for entry in leaf.count.accesses:
            name = entry.access.buffer
            if not buffers[name].is_parameter:
                loops = leaf.context.loops
                common[name] = _common_prefix(common.get(name, loops), loops)
    return common


def _common_prefix(one: Loops, other: Loops) -> Loops:
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple(loop for loop, _ in equal)


def compact_elements(
    nodes: Sequence[CostNode], buffers: Mapping[str, Buffer], allocation: Mapping[str, Loops]
) -> dict[str, int]:
    """Elements of each array that is no parameter after TVM's ``CompactBufferAllocation``.

    The number is an upper bound: the iterations of the loops inside of `allocation` that occur in
    an index.
    """
    most: dict[str, int] = {}
    for leaf in leaves_of(nodes):
        for entry in leaf.count.accesses:
            name = entry.access.buffer
            if buffers[name].is_parameter:
                continue
            indices = (leaf.context.resolve(index) for index in entry.access.indices)
            names = frozenset[str]().union(*map(free_variables, indices))
            inside = leaf.context.loops[len(allocation[name]) :]
            elements = math.prod(loop.trip_count for loop in inside if loop.var in names)
            most[name] = max(most.get(name, 1), elements)
    return most
