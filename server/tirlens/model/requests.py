"""What one load or store instruction of a warp asks of the memory: sectors, lines, banks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tirlens_worker.facts import Buffer

from .places import SECTOR_BYTES, dtype_bytes

LINE_BYTES = 128
BANKS = 32
BANK_BYTES = 4
# The longest load or store instruction.
WIDEST_BYTES = 16
WARP = 32

IntArray = npt.NDArray[np.int64]


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


def requests_of(offset: IntArray, vector: float, buffer: Buffer, written: bool) -> Requests:
    """Lanes that start at `offset` elements and move `vector` of them.

    `written`: shared memory is addressed as the program says, not swizzled by a compiler.
    """
    size = dtype_bytes(buffer.dtype)
    first = np.floor(offset * size).astype(np.int64)
    # One value for all lanes is moved once.
    width = max(int(size if np.all(offset == offset[0]) else size * vector), 1)
    if size > WIDEST_BYTES:
        width, vector = WIDEST_BYTES, WIDEST_BYTES / size
    last = first + width - 1
    if buffer.scope == "global":
        sectors = _distinct(first // SECTOR_BYTES, last // SECTOR_BYTES)
        lines = _distinct(first // LINE_BYTES, last // LINE_BYTES)
        return Requests(vector, float(sectors), float(max(lines, sectors / 4)))
    if written:
        return Requests(vector, 0.0, _bank_wavefronts(first, width))
    return Requests(vector, 0.0, max(len(np.unique(first)) * width / LINE_BYTES, 1.0))


def _distinct(first: IntArray, last: IntArray) -> int:
    widest = int((last - first).max()) + 1
    if widest == 1:
        return len(np.unique(first))
    spans = first[:, None] + np.arange(widest)
    return len(np.unique(spans[spans <= last[:, None]]))


def _bank_wavefronts(first: IntArray, width: int) -> float:
    """Passes of shared memory: the most different words of one bank, phase by phase.

    32 banks of 4 bytes; requests of 8 bytes a lane go in two phases of 16 lanes, of 16 bytes in
    four of 8.
    """
    words = max(width // BANK_BYTES, 1)
    lanes = max(WARP // words, 1)
    total = 0.0
    for start in range(0, len(first), lanes):
        word = first[start : start + lanes, None] // BANK_BYTES + np.arange(words)
        different = np.unique(word)
        total += int(np.bincount(different % BANKS, minlength=1).max())
    return total
