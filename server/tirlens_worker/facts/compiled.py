"""What compilers made of a kernel: NVIDIA's for an architecture, LLVM for a processor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Mapping, Optional, Tuple

from .mappings import no_entries
from .operations import AccessMode
from .source import Span


@dataclass(frozen=True)
class LocalAccess:
    """Loads (``read``) or stores (``write``) of local memory, a thread's memory off chip.

    `span` is the line of the text from which they were compiled, None where it is not known.
    `instructions` is their number in the code, `bytes` their sum for one thread.  `loops` is the
    number of loops of the machine code around them.  `is_spill`: they keep registers, and not
    elements of an array.  `warp_executions` is how often the warps of a block execute each of the
    instructions, on average over the blocks; None where that is not known.
    """

    span: Optional[Span]
    mode: AccessMode
    instructions: int
    bytes: int
    loops: int
    is_spill: bool
    warp_executions: Optional[float] = None


#: A pipe of an SM that executes instructions: ``fma`` (floating point, of 16 bits too), ``fp64``,
#: ``integer`` (additions, logic, comparisons, moves), ``multiply`` (integer products), ``special``
#: (special functions and conversions), ``memory`` (loads and stores), ``product_wait`` (waits for
#: asynchronous matrix instructions), ``other`` (other control, the uniform datapath, matrix
#: instructions).
Pipe = Literal["fma", "fp64", "integer", "multiply", "special", "memory", "product_wait", "other"]


@dataclass(frozen=True)
class ExecutedInstructions:
    """The instructions of one pipe that were compiled from a line of the text.

    `span` is that line, None where it is not known.  `warp_executions` is how often the warps of a
    block execute them, summed over the instructions, on average over the blocks.  A line of which
    an instruction depends on data has None, for all of its instructions.
    """

    span: Optional[Span]
    pipe: Pipe
    warp_executions: Optional[float]


#: The latencies of global memory, in clocks, for which `LineClocks` has the waits.
MEMORY_CLOCKS = (500.0, 1000.0)


@dataclass(frozen=True)
class LineClocks:
    """The clocks of a block's slowest warp at a line of the text, over all executions.

    The warp has its scheduler to itself.  `span` is the line, None where it is not known.  `clocks`
    are those in which it issues and waits for anything but global memory.  `memory_clocks` are
    those in which it waits for what the line loads from global memory, for each latency of
    `MEMORY_CLOCKS`.
    """

    span: Optional[Span]
    clocks: float
    memory_clocks: Tuple[float, float]


@dataclass(frozen=True)
class CompiledLaunch:
    """What the compiler made of a kernel for one architecture; bytes are those of a thread.

    `arch` is the architecture (``sm_90``).  `registers_per_thread` are those of the launch, which
    ``setmaxnreg`` redistributes among the warps of a block.  `spill_bytes` are stored and loaded by
    the code.  `static_shared_bytes` are those of a block.  A function of several kernels has the
    most of any.  `executed` are the executions of its instructions; empty where they are not known,
    as where its control flow depends on data.  `line_clocks` are the clocks of a warp by line;
    empty where the trip count of a loop is not known.  `sizes` are those of the dynamic
    dimensions for which both hold.
    """

    arch: str
    registers_per_thread: int
    stack_bytes: Optional[int] = None
    spill_bytes: Optional[int] = None
    static_shared_bytes: int = 0
    local_accesses: Tuple[LocalAccess, ...] = ()
    executed: Tuple[ExecutedInstructions, ...] = ()
    line_clocks: Tuple[LineClocks, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=no_entries)


@dataclass(frozen=True)
class Assembly:
    """The assembly that LLVM made of a kernel for one processor (``znver4``), in AT&T syntax."""

    processor: str
    text: str
