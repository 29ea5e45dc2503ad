"""The mapping of a statement to threads: its vectors, and the memory requests of its warps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tirlens_worker.facts import Access, Buffer, Statement

from ..constants import constant
from .context import WARP
from .table import Table

LINE_BYTES = constant(
    "LINE_BYTES",
    128,
    kind="isa",
    unit="bytes",
    meaning="A line of L1 and L2.",
    source='CUDA C++ Programming Guide, "Global Memory", since compute capability 5.0',
)
BANKS = constant(
    "BANKS",
    32,
    kind="isa",
    unit="banks",
    meaning="Banks of shared memory.",
    source='CUDA C++ Programming Guide, "Shared Memory", since compute capability 5.0',
)
BANK_BYTES = constant(
    "BANK_BYTES",
    4,
    kind="isa",
    unit="bytes",
    meaning="Width of a bank of shared memory.",
    source='CUDA C++ Programming Guide, "Shared Memory", since compute capability 5.0',
)

SHARED_SCOPES = frozenset({"shared", "shared.dyn"})


@dataclass(frozen=True)
class MemoryRequest:
    """One access as instructions of warps.

    Attributes
    ----------
    vector
        Elements that one instruction of a thread moves; below one for types wider than 16 bytes.
    sectors, lines
        32-byte sectors and 128-byte lines of global memory that one instruction of a warp touches.
    wavefronts
        Passes of one instruction of a warp through the L1 and shared memory data path, 128 bytes
        each.
    merged_iterations
        Iterations of the program that read what one instruction loads.
    lanes
        Active lanes on average; fewer than 32 in a small block or tile, and under conditions.
    lane_offsets
        The first element of each active lane, relative to a line of memory, in the warp of which
        sectors, lines and wavefronts are.
    is_swizzled
        Whether the array is laid out without bank conflicts.
    """

    vector: float
    sectors: float
    wavefronts: float
    merged_iterations: float = 1.0
    lines: float = 0.0
    lanes: float = WARP
    lane_offsets: tuple[int, ...] = field(default=(), compare=False, repr=False)
    is_swizzled: bool = False

    @property
    def elements_per_thread(self) -> float:
        """Element accesses of the program that one instruction of a thread serves."""
        return self.vector * self.merged_iterations

    @property
    def elements_per_warp(self) -> float:
        """Element accesses of the program that one instruction of a warp serves, on average."""
        return self.elements_per_thread * self.lanes

    @property
    def sector_elements(self) -> float:
        """Element accesses of the program that the `sectors` serve."""
        return self.elements_per_thread * len(self.lane_offsets)


@dataclass(frozen=True)
class ThreadMapping:
    """The distribution of one statement over threads.

    Attributes
    ----------
    vector
        Elements of one vector instruction.
    repeats
        Vector instructions of a thread in one execution of the statement.
    is_serial
        Whether a data-dependent condition keeps the repeats from overlapping.
    requests
        The request of each access; None where it is no load or store instruction, or where its
        addresses are not known.
    issued_shares
        The share of the repeats in which each access is an instruction: a thread loads once what
        several of its elements share.  Empty where each repeat is one.
    unlimited_vector
        Elements of a vector instruction of the statement alone, where other statements of its loop
        limit `vector`; None elsewhere.
    """

    vector: int
    repeats: float
    is_serial: bool
    requests: tuple[MemoryRequest | None, ...]
    issued_shares: tuple[float, ...] = ()
    unlimited_vector: int | None = None


NO_MAPPING = ThreadMapping(1, 1.0, False, ())


def memory_space(access: Access, buffers: Mapping[str, Buffer]) -> str | None:
    """``global`` or ``shared`` where an access goes to memory, None for registers."""
    scope = buffers[access.buffer].scope
    if scope == "global":
        return "global"
    return "shared" if scope in SHARED_SCOPES else None


def register_statement_key(statement: Statement, buffers: Mapping[str, Buffer]) -> object:
    """A key for per-thread statements with equal costs that access only registers; else None."""
    if statement.per != "thread":
        return None
    for access in statement.accesses:
        own = buffers[access.buffer].scope in ("local", "local.var")
        if not own or access.guard is not None:
            return None
    return statement.arith, len(statement.accesses)


@dataclass(frozen=True)
class Mapped:
    """What the mapping stage finds, of a kernel on any device.

    Attributes
    ----------
    mappings
        The mapping of the accesses of each statement to threads.
    row_vectors
        Consecutive elements of a row that a thread holds of the tile that a reduction reads; 0
        where not known, and for any other statement.
    accumulators
        The tiles with the layout of a matrix instruction's result.
    """

    mappings: Table[ThreadMapping]
    row_vectors: Table[int]
    accumulators: frozenset[str]
