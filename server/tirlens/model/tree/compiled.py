"""What the compiler stage hands on: the instructions and the route of each statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .route import Route
from .table import Table
from .thread_mapping import ThreadMapping


@dataclass(frozen=True)
class Instructions:
    """The instructions of a statement, over the launch.

    Attributes
    ----------
    mapping
        The load and store instructions that remain of its accesses.
    operations
        Instructions of threads for its operations, by unit and class of type.
    has_slow_path
        Whether an operation branches to a slow path for rare values.
    index
        Integer instructions of one thread for the addresses of one execution.
    predicate
        Integer instructions for the predicates of its loads, and of the branch that it is the first
        statement of: 32 for each one of a warp.
    skipped
        Control instructions, 32 for each one of a warp: loop control, barriers, branches, and those
        of warps without an active lane.
    reaching_threads
        The threads of a block that reach the branch that it is the first statement of; 0 where it
        is the first one of none.
    product_waits
        How often one execution of a product by asynchronous instructions waits for them: once, or
        after each instruction where the compiler serialises them.
    """

    mapping: ThreadMapping
    operations: Mapping[tuple[str, str], float]
    has_slow_path: bool
    index: float
    predicate: float
    skipped: float
    reaching_threads: int
    product_waits: float


@dataclass(frozen=True)
class LocalMemory:
    """The accesses of a statement to local memory, over the launch.

    Attributes
    ----------
    read_bytes, written_bytes
        The bytes that its threads load and store.
    instructions
        The loads and stores of threads.
    instruction_factor
        The instructions that the statement issues, without those of `instructions`, over those that
        it would issue without local memory.
    """

    read_bytes: float
    written_bytes: float
    instructions: float
    instruction_factor: float


#: That of a statement whose threads access none.
NO_LOCAL_MEMORY = LocalMemory(0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class ThreadResources:
    """What a thread takes.

    Attributes
    ----------
    registers
        Registers of 32 bits, as launched.
    stack_bytes
        Local memory of a thread; None where not known.
    spill_bytes
        Bytes of registers that its code stores and loads there; None where not known.
    local_memory
        The accesses of each statement to local memory.
    """

    registers: int
    stack_bytes: int | None
    spill_bytes: int | None
    local_memory: Table[LocalMemory]


@dataclass(frozen=True)
class CodeClocks:
    """The clocks of a block's slowest warp in a statement's machine code, over all executions.

    Attributes
    ----------
    clocks
        In which it issues, and waits for anything but global memory.
    memory_clocks
        In which it waits for loads from global memory, for the latencies `MEMORY_CLOCKS`.
    """

    clocks: float
    memory_clocks: tuple[float, float]


@dataclass(frozen=True)
class Compiled:
    """What the compiler makes of a kernel on a device.

    Attributes
    ----------
    instructions
        The instructions of each statement.
    routes
        What each statement becomes.
    row_vectors
        Consecutive elements of a row that a thread holds of the tile that a reduction reads; 0
        where not known, and for any other statement.
    accumulators
        The tiles with the layout of a matrix instruction's result.
    thread
        What a thread takes.
    code_clocks
        The clocks of the machine code of each statement; None where it is not known.
    """

    instructions: Table[Instructions]
    routes: Table[Route]
    row_vectors: Table[int]
    accumulators: frozenset[str]
    thread: ThreadResources
    code_clocks: Table[CodeClocks] | None
