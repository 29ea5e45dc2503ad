"""What one load or store instruction of a warp asks of the memory: sectors, lines, banks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tirlens_worker.facts import Buffer

from ...tree.context import SECTOR_BYTES, WARP, dtype_bytes

# CUDA C++ Programming Guide, "Global Memory" and "Shared Memory", since compute capability 5.0.
LINE_BYTES = 128
BANKS = 32
BANK_BYTES = 4
# The longest load or store instruction (ibid., "Size and Alignment Requirement").
MAX_INSTRUCTION_BYTES = 16


@dataclass(frozen=True)
class MemoryRequest:
    """One access as the instructions of warps.

    `vector` elements move with one instruction of a thread, less than one of wide types.  One
    instruction of a warp touches `sectors` 32-byte sectors of `lines` (global memory) and takes
    `wavefronts` passes of the data path that L1 and shared memory have in common, which moves 128
    bytes in a clock.  What it loads is what `uses` turns of the program read.  `lanes` of the warp
    take part: fewer than 32 where a block or a tile has no more.
    """

    vector: float
    sectors: float
    wavefronts: float
    merged_iterations: float = 1.0
    lines: float = 0.0
    lanes: int = WARP

    @property
    def elements_per_thread(self) -> float:
        """How many element accesses of the program one instruction of a thread stands for."""
        return self.vector * self.merged_iterations

    @property
    def elements_per_warp(self) -> float:
        """The same of one instruction of a warp."""
        return self.elements_per_thread * self.lanes


def memory_request(
    starts: Sequence[int], vector: float, buffer: Buffer, written: bool, loads: bool
) -> MemoryRequest:
    """Lanes that start at some elements and move `vector` of them; `loads`: to registers.

    `written`: shared memory is addressed as the program says, not swizzled by a compiler.
    """
    size = dtype_bytes(buffer.dtype)
    # Sectors, lines and banks are the same some whole lines further on.
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
    # What a compiler makes of one value for all elements of a tile is one element.
    same = not written and len(set(starts)) == 1
    width = max(int(size if same else size * vector), 1)
    if size > MAX_INSTRUCTION_BYTES:
        width, vector = MAX_INSTRUCTION_BYTES, MAX_INSTRUCTION_BYTES / size
    in_pairs = loads and _are_lanes_paired(first)
    if in_global:
        sectors = _count_units(first, width, SECTOR_BYTES)
        lines = _count_units(first, width, LINE_BYTES)
        passes = _count_wavefronts(first, width, in_pairs)
        return MemoryRequest(vector, float(sectors), float(passes), lines=float(lines), lanes=lanes)
    if written:
        return MemoryRequest(vector, 0.0, _count_wavefronts(first, width, in_pairs), lanes=lanes)
    return MemoryRequest(vector, 0.0, max(len(set(first)) * width / LINE_BYTES, 1.0), lanes=lanes)


def _count_units(first: Sequence[int], width: int, unit: int) -> int:
    """How many units of memory hold the `width` bytes from each of some addresses on."""
    held = {start // unit for start in first}
    for start in first:
        held.update(range(start // unit + 1, (start + width - 1) // unit + 1))
    return len(held)


def _are_lanes_paired(first: Sequence[int]) -> bool:
    """Whether each lane asks for the same as the one beside it, or as the one after that.

    What loads return, a register a lane and clock, is packed then: half as many clocks for 8 and
    16 bytes a lane (Greg Smith of NVIDIA, "Unexpected shared memory bank conflict",
    forums.developer.nvidia.com/t/77228: four requests of an LDS.128, or two).
    """
    return any(
        all(one == first[lane ^ apart] for lane, one in enumerate(first))
        for apart in (1, 2)
        if len(first) % (2 * apart) == 0
    )


def _count_wavefronts(first: Sequence[int], width: int, in_pairs: bool) -> float:
    """Passes of shared memory: the most different words of one bank, phase by phase.

    32 banks of 4 bytes; requests of 8 bytes a lane go in two phases of 16 lanes, of 16 bytes in
    four of 8.  Loads whose lanes ask `in_pairs` for the same take half as many.
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
