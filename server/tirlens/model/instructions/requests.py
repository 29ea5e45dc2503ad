"""What one load or store instruction of a warp asks of the memory: sectors, lines, banks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tirlens_worker.facts import Buffer

from .places import SECTOR_BYTES, WARP, dtype_bytes

LINE_BYTES = 128
BANKS = 32
BANK_BYTES = 4
# The longest load or store instruction.
WIDEST_BYTES = 16


@dataclass(frozen=True)
class Requests:
    """One access as the instructions of warps.

    `vector` elements move with one instruction of a thread, less than one of wide types.  One
    instruction of a warp touches `sectors` 32-byte sectors (global memory) and takes `wavefronts`
    passes of the data path that L1 and shared memory have in common, which moves 128 bytes in a
    clock.
    """

    vector: float
    sectors: float
    wavefronts: float


def requests_of(starts: Sequence[int], vector: float, buffer: Buffer, written: bool) -> Requests:
    """Lanes that start at some elements and move `vector` of them.

    `written`: shared memory is addressed as the program says, not swizzled by a compiler.
    """
    size = dtype_bytes(buffer.dtype)
    # Sectors, lines and banks are the same some whole lines further on.
    ahead = int(LINE_BYTES / size) or 1
    if ahead * size % LINE_BYTES:
        ahead = 8 * LINE_BYTES
    moved = min(starts, default=0) // ahead * ahead
    lanes = tuple(start - moved for start in starts)
    return _requests(lanes, vector, size, buffer.scope == "global", written)


@lru_cache(maxsize=4096)
def _requests(
    starts: tuple[int, ...], vector: float, size: float, in_global: bool, written: bool
) -> Requests:
    first = [math.floor(start * size) for start in starts]
    # What a compiler makes of one value for all elements of a tile is one element.
    same = not written and len(set(starts)) == 1
    width = max(int(size if same else size * vector), 1)
    if size > WIDEST_BYTES:
        width, vector = WIDEST_BYTES, WIDEST_BYTES / size
    if in_global:
        sectors = _distinct(first, width, SECTOR_BYTES)
        lines = _distinct(first, width, LINE_BYTES)
        passes = max(lines, sectors / 4, _bank_wavefronts(first, width))
        return Requests(vector, float(sectors), float(passes))
    if written:
        return Requests(vector, 0.0, _bank_wavefronts(first, width))
    return Requests(vector, 0.0, max(len(set(first)) * width / LINE_BYTES, 1.0))


def _distinct(first: Sequence[int], width: int, unit: int) -> int:
    """How many units of memory hold the `width` bytes from each of some addresses on."""
    held = {start // unit for start in first}
    for start in first:
        held.update(range(start // unit + 1, (start + width - 1) // unit + 1))
    return len(held)


def _bank_wavefronts(first: Sequence[int], width: int) -> float:
    """Passes of shared memory: the most different words of one bank, phase by phase.

    32 banks of 4 bytes; requests of 8 bytes a lane go in two phases of 16 lanes, of 16 bytes in
    four of 8.
    """
    words = max(width // BANK_BYTES, 1)
    lanes = max(WARP // words, 1)
    total = 0.0
    for start in range(0, len(first), lanes):
        different = {
            address // BANK_BYTES + word
            for address in first[start : start + lanes]
            for word in range(words)
        }
        total += max(Counter(word % BANKS for word in different).values())
    return total
