"""Local memory: what of a thread's arrays and registers the compiler keeps off chip.

An array that is indexed by a loop variable lives in the stack frame of the thread, because
registers have no index; registers that do not fit are spilled to it.  Where a kernel is compiled
its machine code says which, and how wide the loads and stores are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tirlens_worker.facts import CompiledLaunch, LocalAccess, Loop, Statement

from ...constants import constant
from ...counting.kernel_counts import AccessCount, Counts
from ...tree.compiled import NO_LOCAL_MEMORY, LocalMemory
from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.node import CostNode, Leaf, LoopCost, WhileCost, leaves_of
from ...tree.route import Route
from ...tree.table import Table
from ...tree.trip_counts import mean_trip_count
from .live_ranges import REGISTER_BYTES, REGISTER_SCOPES
from .matrix_instructions import wgmma_accumulators

SPILL_INSTRUCTION_FACTOR = constant(
    "SPILL_INSTRUCTION_FACTOR",
    3.0,
    kind="estimate",
    unit="ratio",
    meaning="Instructions that are issued with spill code over those without.",
    source="a load and a store for each arithmetic instruction",
)

SPILL_BYTES = constant(
    "SPILL_BYTES",
    8,
    kind="compiler",
    unit="bytes",
    meaning="Bytes that a thread loads or stores at once of a spilled accumulator.",
    source="ptxas 13.0, LDL.64 and STL.64",
)


class SpilledAccumulators(NamedTuple):
    """The accumulators of a product that spill: their share, and their bytes in a thread."""

    share: float
    bytes: float


def estimated_local_memory(
    leaves: Sequence[Leaf], share: float, products: Mapping[int, SpilledAccumulators]
) -> Table[LocalMemory]:
    """The accesses of statements to local memory where registers are short.

    Parameters
    ----------
    leaves
        The statements.
    share
        The share of their register arrays that spills.
    products
        The products whose accumulators spill (`spilled_accumulators`), by number.
    """
    return Table(
        _accumulator_spills(leaf, products[leaf.number].share)
        if leaf.number in products
        else (_spills_of(leaf, share) if share else NO_LOCAL_MEMORY)
        for leaf in leaves
    )


def spilled_accumulators(
    leaves: Sequence[Leaf], routes: Table[Route], most_registers: int
) -> Mapping[int, SpilledAccumulators]:
    """The wgmma products whose accumulators exceed `most_registers` of a thread, by number.

    A wgmma has the accumulators of 64 rows in registers.  Where those of all rows do not fit, the
    registers of one set are shared by all that do not stay: each of these is loaded and stored in
    every execution of the product.  (ptxas 13.0: of two sets of 128 registers both, 251 of 256
    registers each way; of four sets of 64 two, 126 of 256.)
    """
    found: dict[int, SpilledAccumulators] = {}
    for leaf in leaves:
        known = wgmma_accumulators(leaf) if routes[leaf].instruction == "wgmma" else None
        if known is not None and known[0] * known[1] > most_registers:
            registers, sets = known
            moved = sets - max(int(most_registers // registers) - 1, 0)
            found[leaf.number] = SpilledAccumulators(
                moved / sets, moved * registers * REGISTER_BYTES
            )
    return found


def _accumulator_spills(leaf: Leaf, share: float) -> LocalMemory:
    held = [entry for entry in leaf.count.accesses if _is_in_registers(entry)]
    # What a product reads alone is an operand.
    names = {entry.buffer.id for entry in held if entry.access.mode != "read"}
    reads, writes = _spilled_bytes([one for one in held if one.buffer.id in names], share)
    return LocalMemory(reads, writes, (reads + writes) / SPILL_BYTES, 1.0)


def _spills_of(leaf: Leaf, share: float) -> LocalMemory:
    held = [entry for entry in leaf.count.accesses if _is_in_registers(entry)]
    if not held:
        return NO_LOCAL_MEMORY
    # The factor has the instructions.
    return LocalMemory(*_spilled_bytes(held, share), 0.0, SPILL_INSTRUCTION_FACTOR)


def _spilled_bytes(held: Sequence[AccessCount], share: float) -> tuple[float, float]:
    """The bytes that are loaded and stored where a share of the accesses goes to local memory."""
    reads = share * sum(entry.bytes or 0 for entry in held if entry.access.mode != "write")
    writes = share * sum(entry.bytes or 0 for entry in held if entry.access.mode != "read")
    return reads, writes


def compiled_local_memory(
    tree: Sequence[CostNode], counts: Counts, blocks: int, launch: CompiledLaunch
) -> Table[LocalMemory]:
    """The accesses of statements to local memory, by the machine code of the kernel.

    The elements of arrays are counted exactly: the code says at which lines they are loaded and
    stored, and in which width.  Spills are counted by the executions of the machine code; where
    those depend on data, by the loops of the machine code around them, which are taken for the
    outermost loops around the statement.

    Parameters
    ----------
    tree
        The body of the kernel.
    counts
        Its counts.
    blocks
        The blocks of its launch.
    launch
        What the compiler made of it.
    """
    leaves = leaves_of(tree)
    found = [_Accesses() for _ in leaves]
    accesses = launch.local_accesses
    lines = _Lines(leaves)
    arrays = _stack_arrays(leaves, counts, launch)
    widths = _array_widths(accesses)
    for leaf in leaves:
        for entry in leaf.count.accesses:
            name = entry.buffer.alias_of or entry.buffer.id
            for mode in _directions(entry):
                width = widths.get((_line(leaf.source), mode))
                if name in arrays and width and entry.bytes:
                    found[leaf.number].add(mode, entry.bytes, entry.bytes / width)
    loops = _sequential_loops(tree)
    for access in accesses:
        leaf = lines.nearest(access) if access.is_spill else None
        if leaf is not None:
            if access.warp_executions is not None:
                executions = blocks * access.warp_executions * leaf.context.warp_size
            else:
                trips = map(mean_trip_count, loops[leaf.number][: access.loops])
                executions = blocks * leaf.threads * math.prod(trips)
            found[leaf.number].add(
                access.mode, executions * access.bytes, executions * access.instructions
            )
    return Table(one.local_memory for one in found)


@dataclass
class _Accesses:
    """Bytes of a statement in local memory by mode, and the instructions of threads for them."""

    bytes: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    instructions: float = 0.0

    def add(self, mode: str, bytes_: float, instructions: float) -> None:
        self.bytes[mode] += bytes_
        self.instructions += instructions

    @property
    def local_memory(self) -> LocalMemory:
        if not self.instructions:
            return NO_LOCAL_MEMORY
        return LocalMemory(self.bytes["read"], self.bytes["write"], self.instructions, 1.0)


def _array_widths(accesses: Sequence[LocalAccess]) -> Mapping[tuple[int, str], float]:
    """The mean bytes of an instruction that accesses an array, by line and mode."""
    bytes_, instructions = (
        defaultdict[tuple[int, str], int](int),
        defaultdict[tuple[int, str], int](int),
    )
    for one in accesses:
        if one.span is not None and not one.is_spill:
            bytes_[one.span.line, one.mode] += one.bytes
            instructions[one.span.line, one.mode] += one.instructions
    return {key: bytes_[key] / instructions[key] for key in bytes_}


def _stack_arrays(leaves: Sequence[Leaf], counts: Counts, launch: CompiledLaunch) -> frozenset[str]:
    """The arrays in the stack frame: of those accessed there the largest that have room in it."""
    widths = _array_widths(launch.local_accesses)
    sizes: dict[str, float] = {}
    for leaf in leaves:
        for entry in leaf.count.accesses:
            known = counts.buffers.get(entry.buffer.alias_of or entry.buffer.id)
            in_code = any((_line(leaf.source), mode) in widths for mode in _directions(entry))
            if in_code and known is not None and known.bytes and _is_in_registers(entry):
                # A fragment is distributed over the threads; a local array is private to each.
                threads = leaf.threads if entry.buffer.scope == "local.fragment" else 1
                sizes[known.buffer.id] = math.ceil(known.bytes / threads)
    # A single element has no index.
    sizes = {name: size for name, size in sizes.items() if size > REGISTER_BYTES}
    room = launch.stack_bytes or 0
    found: set[str] = set()
    for name, size in sorted(sizes.items(), key=lambda pair: -pair[1]):
        if size <= room:
            found.add(name)
            room -= size
    return frozenset(found)


class _Lines:
    """Finds the statement of a line of the text."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self._leaves = [(line, leaf) for leaf in leaves if (line := _line(leaf.source))]

    def nearest(self, access: LocalAccess) -> Leaf | None:
        """The first statement of the line of `access`, else that of the nearest line.

        None if the line is not between two statements: another kernel of the function may have it.
        """
        line = access.span.line if access.span is not None else 0
        lines = [number for number, _ in self._leaves]
        if not lines or not min(lines) <= line <= max(lines):
            return None
        return min(self._leaves, key=lambda pair: abs(pair[0] - line))[1]


def _line(statement: Statement) -> int:
    """The line of a statement in the text that is analysed; 0 where it is in another file."""
    return next((site.line for site in statement.sites if site.file is None), 0)


def _sequential_loops(tree: Sequence[CostNode]) -> Mapping[int, Sequence[CostNode]]:
    """The sequential loops around each statement, outermost first, by its number."""
    found: dict[int, Sequence[CostNode]] = {}

    def visit(nodes: Sequence[CostNode], around: tuple[CostNode, ...]) -> None:
        for node in nodes:
            if isinstance(node, Leaf):
                found[node.number] = around
            else:
                visit(node.children, (*around, *_as_sequential(node)))

    visit(tree, ())
    return found


def _as_sequential(node: CostNode) -> Iterator[CostNode]:
    if isinstance(node, WhileCost):
        yield node
    elif isinstance(node, LoopCost):
        # As the program has it: the compiler's code says how many of these loops are left.
        source = node.count.source
        kinds = CONCURRENT_KINDS | GRID_KINDS | {"unroll"}
        if isinstance(source, Loop) and source.kind not in kinds:
            yield node


def _is_in_registers(entry: AccessCount) -> bool:
    return entry.buffer.scope.startswith(REGISTER_SCOPES)


def _directions(entry: AccessCount) -> tuple[str, ...]:
    """Whether an access loads (``read``) or stores (``write``); an atomic one does both."""
    mode = entry.access.mode
    return ("read", "write") if mode == "atomic" else (mode,)
