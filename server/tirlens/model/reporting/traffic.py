"""The bytes that a kernel moves at each level of the memory, and its intensity."""

from __future__ import annotations

from collections.abc import Sequence

from tirlens.hardware.spec import Device

from ..counting.kernel_counts import Footprint
from ..report import MemoryTraffic, ReadWrite, Work
from ..tree.moved import Traffic
from ..tree.node import Leaf, known_sum
from ..tree.table import Table
from ..tree.timed_kernel import TimedKernel
from .work import main_peak


def sum_traffic(
    kernel: TimedKernel, footprint: Footprint | None, work: Work, device: Device
) -> MemoryTraffic:
    """The bytes of the statements of a kernel with `work` operations.

    `footprint` are the distinct bytes that it touches; None where they are not known.
    """
    leaves = kernel.leaves
    issued = issued_bytes(leaves)
    is_known = issued.total is not None
    read, written = dram_bytes(kernel.traffic)
    sectors = None if footprint is None else footprint.in_sectors(device.dram_sector_bytes)
    main, operations = main_peak(work, leaves, device), work.operations.main
    return MemoryTraffic(
        global_bytes=issued,
        compulsory_bytes=None if footprint is None else footprint.bytes,
        compulsory_is_exact=footprint is None or footprint.exact,
        compulsory_sector_bytes=None if sectors is None else sectors.bytes,
        compulsory_sectors_are_exact=sectors is None or sectors.exact,
        dram_bytes=ReadWrite(round(read), round(written)) if is_known else ReadWrite(None, None),
        l2_bytes=round(sum(map(kernel.l2_bytes, leaves))) if is_known else None,
        shared_bytes=sum([leaf.shared_bytes for leaf in leaves]),
        arithmetic_intensity=(
            operations / (read + written) if operations is not None and read + written else None
        ),
        ridge_point=main[1] / device.dram.bytes_per_s if main else None,
    )


def issued_bytes(leaves: Sequence[Leaf]) -> ReadWrite:
    """Bytes of global memory that the statements ask for."""
    return ReadWrite(
        known_sum([leaf.read_bytes for leaf in leaves]),
        known_sum([leaf.write_bytes for leaf in leaves]),
    )


def dram_bytes(traffic: Table[Traffic]) -> tuple[float, float]:
    """Bytes that statements read from DRAM, and write to it."""
    read = sum(one.dram_read_bytes for one in traffic)
    return read, sum(one.dram_write_bytes for one in traffic)


def least_dram_bytes(traffic: Table[Traffic], footprint: Footprint | None) -> float | None:
    """A lower bound of the bytes that DRAM moves; None where none is known."""
    if footprint is None:
        return None
    if footprint.exact:
        return footprint.least_bytes
    # An upper bound of the compulsory bytes is no lower bound of the time.
    return min(footprint.least_bytes, sum(dram_bytes(traffic)))
