"""The steps of a GPU's calibration: kernels with sizes that follow from the device.

The kernels are those of `tirlens_worker.frameworks.benchmarking.calibration.gpu_kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tirlens.hardware.spec import Device

# As in the kernels: operations of one iteration, threads of a block, bytes of a block in one round.
CHAIN_STEPS = 256
CHASE_STEPS = 16
BARRIERS = 16
CHAIN_OPERATIONS = 8 * 16
THREADS = 256
BLOCK_BYTES = THREADS * 16 * 4
WIDE_THREADS = 1024
WIDE_BLOCK_BYTES = WIDE_THREADS * 16 * 4
FLOAT_BYTES = 4
LINE_BYTES = 128
# Iterations of the chains, whose difference is without the cost of a launch.  The short one takes
# 15 us, in which any host has launched the next kernel.
SHORT_STEPS, LONG_STEPS = 32, 64
LATENCY_STEPS = 64
# Iterations of the throughput kernels, about a millisecond.
ARITHMETIC_STEPS = {"multiply-add": 512, "exp2": 64, "rsqrt": 64}
BLOCKS_PER_SM = 4
# Size of arrays in DRAM over that of the last cache, and their least size: 1 GiB takes over 100 us.
EXCEEDING_FACTOR = 8
MIN_DRAM_BYTES = 1 << 30
# Part of the memory that one array may take.
MEMORY_PART = 8
# Size of arrays in L2 over that of a part of L2, at which reads have the rate of L2 on all boards
# of te42kyfo/gpu-benches.
STREAM_PART = 0.4
MAX_STREAM_PART = 0.75
CHASE_PART = 0.125
# Parts of L2 of which the chases show how much of it holds data.
USABLE_PARTS = (0.5, 0.75, 1.0)
L2_STREAM_S = 1e-4
# Blocks between the slices that a block reads in successive passes, so that L1 has none of them.
SHIFT = 37
CHASE_LOADS = 16384
# Size of the array that one SM reads from L2 over that of L1, which keeps a part of a smaller one.
PORT_FACTOR = 16
PORT_PASSES = 16
PRODUCT = "product"
PRODUCT_SIZE = 8192
PRODUCT_TYPES = ("float16", "bfloat16", "tf32", "float8", "int8")
ARRAYS = {"read": 1, "write": 1, "copy": 2, "triad": 3}


@dataclass(frozen=True)
class Board:
    """A GPU as its driver reports it to the framework; None is what is not reported."""

    name: str
    vendor: str
    arch: str
    sm_count: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    framework: str = ""


@dataclass(frozen=True)
class Step:
    """A kernel with its sizes.

    `work` is what one launch does: bytes, floating-point operations or dependent operations.
    """

    name: str
    kernel: str
    work: float
    sizes: Mapping[str, int | str]
    is_long: bool = False

    def request(self) -> dict[str, Any]:
        """The step as the worker reads it."""
        return {
            "name": self.name,
            "kernel": self.kernel,
            "sizes": dict(self.sizes),
            "is_long": self.is_long,
        }


def calibration_steps(base: Device, board: Board) -> tuple[Step, ...]:
    """The steps for a board whose device file extends that of `base`."""
    return (
        *_chains(),
        *_arithmetic(base, board),
        *_streams(base, board),
        *_chases(base, board),
        *_products(base),
    )


def l2_bytes(base: Device, board: Board) -> int:
    """The size of the whole L2: AMD's driver reports that of one XCD."""
    return (board.l2_bytes if board.vendor == "NVIDIA" else None) or base.l2.bytes


def _chains() -> Iterator[Step]:
    yield Step("empty", "empty", 1, {})
    for name, steps in (("short chain", SHORT_STEPS), ("long chain", LONG_STEPS)):
        yield Step(name, "chain", steps * CHAIN_STEPS, {"steps": steps})
    for name, operations in (
        ("shuffles", CHASE_STEPS), ("barriers", BARRIERS), ("shared chase", CHASE_STEPS)
    ):  # fmt: skip
        yield Step(name, name, LATENCY_STEPS * operations, {"steps": LATENCY_STEPS})


def _arithmetic(base: Device, board: Board) -> Iterator[Step]:
    blocks = (board.sm_count or base.sm_count) * BLOCKS_PER_SM
    for kernel, steps in ARITHMETIC_STEPS.items():
        operations = 2 if kernel == "multiply-add" else 1
        work = blocks * THREADS * steps * CHAIN_OPERATIONS * operations
        sizes = {"blocks": blocks, "steps": steps, "results": blocks * THREADS}
        yield Step(kernel, kernel, work, sizes, is_long=True)


def _streams(base: Device, board: Board) -> Iterator[Step]:
    size = _dram_bytes(base, board) // BLOCK_BYTES * BLOCK_BYTES
    blocks = size // BLOCK_BYTES
    once = {"rounds": 1, "passes": 1, "shift": 0}
    for kernel, arrays in ARRAYS.items():
        results = blocks * THREADS
        sizes = {"elements": size // FLOAT_BYTES, "results": results, "blocks": blocks, **once}
        yield Step(f"{kernel} dram", kernel, size * arrays, sizes)
    sms, l2 = board.sm_count or base.sm_count, l2_bytes(base, board)
    near = l2 // base.l2.partitions
    rounds_per_sm = max(int(near * STREAM_PART) // (sms * BLOCK_BYTES), 1)
    blocks = sms * min(rounds_per_sm, BLOCKS_PER_SM)
    rounds = max(rounds_per_sm // BLOCKS_PER_SM, 1)
    size = blocks * rounds * BLOCK_BYTES
    passes = max(int(L2_STREAM_S * base.l2.bytes_per_s / size), 8)
    # A part that holds less than a slice for each SM (an XCD of an MI300X) is not measured.
    for kernel in ("read", "write") if size < MAX_STREAM_PART * near else ():
        yield Step(
            f"{kernel} l2",
            kernel,
            size * passes,
            {
                "elements": size // FLOAT_BYTES,
                "results": blocks * THREADS,
                "blocks": blocks,
                "rounds": rounds,
                "passes": passes,
                "shift": SHIFT,
            },
        )
    port = min(PORT_FACTOR * base.l1_bytes_per_sm, int(near * STREAM_PART))
    rounds = max(port // WIDE_BLOCK_BYTES, 1)
    size = rounds * WIDE_BLOCK_BYTES
    yield Step(
        "read l2 by one SM",
        "wide read",
        size * PORT_PASSES,
        {
            "elements": size // FLOAT_BYTES,
            "results": WIDE_THREADS,
            "blocks": 1,
            "rounds": rounds,
            "passes": PORT_PASSES,
            "shift": 0,
        },
    )


def _chases(base: Device, board: Board) -> Iterator[Step]:
    l2 = l2_bytes(base, board)
    part = l2 // base.l2.partitions
    near = min(max(2 * base.l1_bytes_per_sm, int(part * CHASE_PART)), part // 2)
    yield _chase("chase l2", near, near // LINE_BYTES)
    for share in USABLE_PARTS:
        size = int(l2 * share)
        yield _chase(f"chase {share:g} of l2", size, size // LINE_BYTES)
    yield _chase("chase dram", _dram_bytes(base, board), CHASE_LOADS, is_flushed=True)


def _chase(name: str, size: int, loads: int, is_flushed: bool = False) -> Step:
    """A chase through `size` bytes; a launch has `loads` loads."""
    steps = max(loads // CHASE_STEPS, 1)
    line = LINE_BYTES // FLOAT_BYTES
    sizes = {
        "elements": size // LINE_BYTES * line,
        "line": line,
        "steps": steps,
        "is_flushed": int(is_flushed),
    }
    return Step(name, "chase", steps * CHASE_STEPS, sizes)


def _products(base: Device) -> Iterator[Step]:
    for dtype in PRODUCT_TYPES:
        if f"tensor.{dtype}" in base.peaks:
            sizes = {"dtype": dtype, "size": PRODUCT_SIZE}
            work = 2.0 * PRODUCT_SIZE**3
            yield Step(f"product {dtype}", PRODUCT, work, sizes, is_long=True)


def _dram_bytes(base: Device, board: Board) -> int:
    """The size of an array that no cache holds."""
    last = max(l2_bytes(base, board), base.llc.bytes if base.llc else 0)
    memory = board.memory_bytes or base.dram.bytes
    return min(max(EXCEEDING_FACTOR * last, MIN_DRAM_BYTES), memory // MEMORY_PART)
