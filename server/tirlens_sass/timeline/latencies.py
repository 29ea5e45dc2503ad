"""The latencies of instructions for which the compiler sets no fixed distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Warp schedulers of an SM since Volta (NVIDIA's architecture white papers).
SCHEDULERS = 4
#: Cycles until a load or store has read its operands, an estimate: the latency of a dependent
#: instruction, and the queue of the unit.
OPERANDS_CYCLES = 10.0


@dataclass(frozen=True)
class Latencies:
    """Cycles from the issue of an instruction until a warp that waits for its result goes on.

    Parameters
    ----------
    global_memory
        A load from global memory, and an atomic that returns a value.
    shared_memory
        A load from shared memory; also from a constant bank, which takes as long (Jia et al.,
        arXiv:1804.06826, table 3.2), and from local memory that hits in L1.
    shuffle, special, conversion, barrier
        An exchange between lanes, a special function, a conversion, a barrier of a block.
    phase
        A test of a barrier in shared memory (``mbarrier``) whose phase is complete.
    product
        The last step of an asynchronous product, after its instruction has occupied the tensor
        cores.
    matrix_operations
        Operations (2 of a multiply-add) that the tensor cores of one scheduler execute in a cycle,
        by opcode: ``HMMA``; ``HMMA.TF32`` for that type. Without a number no cycle is taken.
    bytes_per_cycle
        What an SM loads from L2.
    """

    global_memory: float
    shared_memory: float
    shuffle: float
    special: float
    conversion: float
    barrier: float
    phase: float
    product: float
    bytes_per_cycle: float
    matrix_operations: Mapping[str, float] = field(default_factory=dict[str, float])
