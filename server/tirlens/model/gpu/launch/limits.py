"""Launches that CUDA refuses, and arrays that a device does not hold."""

from __future__ import annotations

from tirlens.hardware.spec import Device

from ...counting.kernel_counts import Counts

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the largest
# dimensions of a grid and of a block, since compute capability 3.0.
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
_AXES = "xyz"


def refused_launch(counts: Counts, device: Device) -> str:
    """The reason why a launch is refused by the CUDA runtime; empty if it is not.

    Parameters
    ----------
    counts
        The counts of the kernel with the extents of its launch.
    device
        The device; limits of dimensions are known for NVIDIA's.
    """
    grid, threads = counts.launch.grid or (), counts.launch.threads or ()
    if 0 in grid:
        return f"the grid is empty: {' x '.join(map(str, grid))} blocks"
    if not device.arch.startswith("sm_"):
        return ""
    for name, extents, limits in (("blockIdx", grid, MAX_GRID), ("threadIdx", threads, MAX_BLOCK)):
        for axis, extent, limit in zip(_AXES, extents, limits, strict=False):
            if extent > limit:
                return f"{name}.{axis} has the extent {extent}, and CUDA allows {limit}"
    return ""


def array_bytes(counts: Counts) -> int:
    """The size of all arrays in global memory in bytes; arrays of unknown size count as 0."""
    return sum(
        entry.bytes or 0
        for entry in counts.buffers.values()
        if entry.buffer.scope == "global" and entry.buffer.alias_of is None
    )
