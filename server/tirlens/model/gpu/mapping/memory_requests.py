"""Memory requests: the sectors, lines and shared memory banks of one instruction of a warp."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from tirlens_worker.facts import Buffer

from ...constants import constant
from ...tree.context import SECTOR_BYTES, WARP, dtype_bytes
from ...tree.thread_mapping import BANK_BYTES, BANKS, LINE_BYTES, MemoryRequest

MAX_INSTRUCTION_BYTES = constant(
    "MAX_INSTRUCTION_BYTES",
    16,
    kind="isa",
    unit="bytes",
    meaning="The widest load or store of a thread.",
    source='CUDA C++ Programming Guide, "Size and Alignment Requirement"',
)


def memory_request(
    starts: Sequence[int], vector: float, buffer: Buffer, written: bool, loads: bool
) -> MemoryRequest:
    """The request of a warp.

    Parameters
    ----------
    starts
        The first element of each lane.
    vector
        Elements that one instruction of a thread moves.
    buffer
        The array, for its element type and memory space.
    written
        Whether the program addresses shared memory itself, without a compiler's swizzle.
    loads
        Whether the instruction loads to registers.
    """
    size = dtype_bytes(buffer.dtype)
    # A shift by whole lines changes no sectors, lines or banks.
    ahead = int(LINE_BYTES / size) or 1
    if ahead * size % LINE_BYTES:
        ahead = 8 * LINE_BYTES
    moved = min(starts, default=0) // ahead * ahead
    lanes = tuple(start - moved for start in starts)
    return _cached_request(lanes, vector, size, buffer.scope == "global", written, loads)


@lru_cache(maxsize=4096)
def _cached_request(
    starts: tuple[int, ...],
    vector: float,
    size: float,
    in_global: bool,
    written: bool,
    loads: bool,
) -> MemoryRequest:
    first = [math.floor(start * size) for start in starts]
    lanes = max(len(starts), 1)
    # One value for all elements of a tile is one element.
    same = not written and len(set(starts)) == 1
    width = max(int(size if same else size * vector), 1)
    if size > MAX_INSTRUCTION_BYTES:
        width, vector = MAX_INSTRUCTION_BYTES, MAX_INSTRUCTION_BYTES / size
    in_pairs = loads and are_lanes_paired(first)
    if in_global:
        sectors = _count_units(first, width, SECTOR_BYTES)
        lines = _count_units(first, width, LINE_BYTES)
        passes = count_wavefronts(first, width, in_pairs)
        return MemoryRequest(
            vector, float(sectors), passes, lines=float(lines), lanes=lanes, lane_offsets=starts
        )
    passes = (
        count_wavefronts(first, width, in_pairs)
        if written
        else max(len(set(first)) * width / LINE_BYTES, 1.0)
    )
    return MemoryRequest(
        vector, 0.0, passes, lanes=lanes, lane_offsets=starts, is_swizzled=not written
    )


def _count_units(first: Sequence[int], width: int, unit: int) -> int:
    """The number of aligned units that hold `width` bytes from each address."""
    held = {start // unit for start in first}
    for start in first:
        held.update(range(start // unit + 1, (start + width - 1) // unit + 1))
    return len(held)


def are_lanes_paired(first: Sequence[int]) -> bool:
    """Whether each lane requests the same address as its neighbour, or as the one after that.

    Loads of such lanes take half as many wavefronts for 8 and 16 bytes a lane (Greg Smith of
    NVIDIA, "Unexpected shared memory bank conflict", forums.developer.nvidia.com/t/77228: four
    requests of an LDS.128, or two).
    """
    return any(
        all(one == first[lane ^ apart] for lane, one in enumerate(first))
        for apart in (1, 2)
        if len(first) % (2 * apart) == 0
    )


def count_wavefronts(first: Sequence[int], width: int, in_pairs: bool) -> float:
    """Wavefronts of shared memory: the most distinct words in one bank, summed over phases.

    There are 32 banks of 4 bytes.  Requests of 8 bytes a lane have two phases of 16 lanes, those of
    16 bytes four phases of 8.  Paired lanes halve the number of phases.
    """
    words = max(width // BANK_BYTES, 1)
    lanes = max(WARP // words, 1)
    if in_pairs and lanes < WARP:
        lanes *= 2
    total = 0.0
    for start in range(0, len(first), lanes):
        different = {
            address // BANK_BYTES + word
            for address in first[start : start + lanes]
            for word in range(words)
        }
        total += max(Counter(word % BANKS for word in different).values())
    return total
