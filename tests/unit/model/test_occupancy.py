"""Blocks that are resident on an SM, by hand from the limits of an SM, and misses of local memory.

An SM of an H100 has 65,536 registers, 2048 threads, 32 blocks and 228 KiB of shared memory, 1 KiB
of which each block takes besides its own.  Registers come in eights, threads in warps.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, modelled
from tirlens.hardware import load
from tirlens.model.gpu.occupancy import BlockOccupancy
from tirlens.model.gpu.occupancy.occupancy import BlockResources, Occupancy, occupancy
from tirlens.model.gpu.units.local_memory import l1_miss_fraction
from tirlens_worker.facts import Access, Buffer, Store

KIB = 1024


@pytest.mark.parametrize(
    ("device", "resources", "expected"),
    [
        ("h100-sxm", BlockResources(128, 0, 32), Occupancy(16, 1.0, "threads")),
        # 65 registers are 72, and 65536 / (72 * 128) is 7.1.
        ("h100-sxm", BlockResources(128, 0, 65), Occupancy(7, 7 * 128 / 2048, "registers")),
        ("h100-sxm", BlockResources(128, 0, 64), Occupancy(8, 0.5, "registers")),
        # 100 threads are four warps, as 128 are.
        ("h100-sxm", BlockResources(100, 0, 32), Occupancy(16, 1.0, "threads")),
        ("h100-sxm", BlockResources(32, 0, 16), Occupancy(32, 0.5, "blocks")),
        ("h100-sxm", BlockResources(128, 113 * KIB, 32), Occupancy(2, 0.125, "shared")),
        ("h100-sxm", BlockResources(128, 113 * KIB + 1, 32), Occupancy(1, 0.0625, "shared")),
        ("h100-sxm", BlockResources(1024, 0, 32), Occupancy(2, 1.0, "threads")),
        ("h100-sxm", BlockResources(1024, 0, 64), Occupancy(1, 0.5, "registers")),
        ("h100-sxm", BlockResources(1024, 0, 65), None),
        ("h100-sxm", BlockResources(128, 228 * KIB, 32), None),
        ("a100", BlockResources(256, 0, 128), Occupancy(2, 0.25, "registers")),
        # 512 columns of tensor memory, of which an H100 has none.
        ("b200", BlockResources(128, 0, 32, 128), Occupancy(4, 0.25, "tensor memory")),
        ("b200", BlockResources(128, 0, 32, 512), Occupancy(1, 0.0625, "tensor memory")),
        ("h100-sxm", BlockResources(128, 0, 32, 512), Occupancy(16, 1.0, "threads")),
    ],
)
def test_resident_blocks(
    device: str, resources: BlockResources, expected: Occupancy | None
) -> None:
    assert occupancy(load(device), resources) == expected


@pytest.mark.parametrize(
    ("arrays", "columns"),
    [
        # A column is 32 bits of each of 128 rows; columns are allocated in powers of two, from 32.
        ((("float32", 256),), 256),
        ((("float16", 256),), 128),
        ((("float32", 48),), 64),
        ((("float32", 65),), 128),
        ((("float32", 8),), 32),
        ((("float32", 256), ("float16", 64)), 256 + 32),
    ],
)
def test_columns_of_tensor_memory(arrays: tuple[tuple[str, int], ...], columns: int) -> None:
    buffers = tuple(
        Buffer(f"t{number}", f"t{number}", dtype, (128, length), "shared.tmem")
        for number, (dtype, length) in enumerate(arrays)
    )
    store = Store("", (), (Access("A", "write", ("tx",)),))
    kernel = launched((store,), (Buffer("A", "A", "float32", (128,)), *buffers))
    found = modelled(kernel, load("b200")).launch.block.resources
    assert found.tensor_memory_columns == columns


@pytest.mark.parametrize(
    ("stack_bytes", "l1_bytes", "least", "most"),
    [
        # Two blocks of 128 threads: 256 bytes each are 64 KiB, beside 2 * 32 KiB of shared memory.
        (None, 256 * KIB, 0.0, 1e-9),
        (16, 256 * KIB, 0.0, 0.01),
        (256, 256 * KIB, 0.0, 0.3),
        (256, 80 * KIB, 0.7, 1.0),
        # No room is left.
        (256, 64 * KIB, 1.0, 1.0),
        (256, 32 * KIB, 1.0, 1.0),
    ],
)
def test_misses_of_local_memory(
    stack_bytes: int | None, l1_bytes: int, least: float, most: float
) -> None:
    device = replace(load("h100-sxm"), l1_bytes_per_sm=l1_bytes)
    resources = BlockResources(128, 32 * KIB, 64)
    block = BlockOccupancy(resources, Occupancy(2, 0.125, "shared"))
    assert least <= l1_miss_fraction(stack_bytes, 128, block, device) <= most


@pytest.mark.parametrize(
    ("threads", "kib", "reason"),
    [
        (128, 227, ""),
        (4096, 227, "4096 threads does not fit"),
        (128, 228, "233472 bytes of shared memory, more than the 232448"),
        (4096, 228, "233472 bytes of shared memory, more than the 232448"),
    ],
)
def test_why_a_block_does_not_fit(threads: int, kib: int, reason: str) -> None:
    """All of an H100's 227 KiB that a block may have is not too much."""
    store = Store("", (), (Access("A", "write", ("tx",)),))
    kernel = launched((store,), (Buffer("A", "A", "float32", (128,)),), threads=threads)
    kernel = replace(kernel, launch=replace(kernel.launch, shared_bytes=kib * KIB))
    found = modelled(kernel, load("h100-sxm")).launch.block
    assert (found.occupancy is None) == bool(reason)
    assert reason in found.misfit and bool(found.misfit) == bool(reason)
