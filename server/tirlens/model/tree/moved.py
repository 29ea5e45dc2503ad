"""What the memory stage hands on: the bytes of each statement, and the state of the memory."""

from __future__ import annotations

from dataclasses import dataclass

from .table import Table


@dataclass(frozen=True)
class Traffic:
    """The bytes that a statement moves at each level of a device's memory, over the launch.

    Several blocks may wait for one fetch of the same bytes from DRAM: `dram_requested_bytes` counts
    them once for each waiting block.  `sectors_per_request` is the bytes of touched sectors over
    the requested bytes of a warp; None without a request.
    """

    l2_read_bytes: float = 0.0
    l2_write_bytes: float = 0.0
    dram_read_bytes: float = 0.0
    dram_write_bytes: float = 0.0
    dram_requested_bytes: float = 0.0
    sectors_per_request: float | None = None

    @property
    def l2_bytes(self) -> float:
        """Bytes between L2 and the SMs, both ways."""
        return self.l2_read_bytes + self.l2_write_bytes

    @property
    def dram_bytes(self) -> float:
        """Bytes between DRAM and L2, both ways."""
        return self.dram_read_bytes + self.dram_write_bytes


NO_TRAFFIC = Traffic()


@dataclass(frozen=True)
class AtomicDemand:
    """The atomic updates of a statement that L2 executes, over the launch.

    Attributes
    ----------
    updates
        The updates of elements.
    passes
        The passes of the slices of L2, each of which updates the words of one sector once.
    line_passes
        Those of the busiest line, which one slice executes one after the other.
    is_expected
        Whether the addresses depend on data, and are taken to be spread at random over the array.
    """

    updates: float = 0.0
    passes: float = 0.0
    line_passes: float = 0.0
    is_expected: bool = False

    def plus(self, other: AtomicDemand) -> AtomicDemand:
        """The demand of two accesses."""
        return AtomicDemand(
            self.updates + other.updates,
            self.passes + other.passes,
            max(self.line_passes, other.line_passes),
            self.is_expected or other.is_expected,
        )


NO_ATOMICS = AtomicDemand()


@dataclass(frozen=True)
class MemoryState:
    """The memory of a device under the traffic of a kernel.

    Attributes
    ----------
    dram_bytes_per_s
        The sustained rate of DRAM for the kernel's mix of reads and writes.
    dram_latency_s, l2_latency_s
        The latencies of loads from DRAM and from L2.
    """

    dram_bytes_per_s: float
    dram_latency_s: float
    l2_latency_s: float


@dataclass(frozen=True)
class Moved:
    """What the memory stage finds.

    Attributes
    ----------
    traffic
        The bytes that each statement moves.
    atomics
        Its atomic updates of global memory.
    memory
        The state of the memory.
    """

    traffic: Table[Traffic]
    atomics: Table[AtomicDemand]
    memory: MemoryState
