"""What one load or store instruction of a warp asks of the memory, lane by lane.

CUDA C++ Programming Guide, memory accesses: global memory is moved in sectors of 32 bytes, and the
lanes of a warp share those that their addresses fall into.  Shared memory has 32 banks of 4 bytes;
a bank gives one word in a pass, to all lanes that want this word; lanes of 8 bytes go in halves of
a warp, lanes of 16 in quarters, for a pass brings 128 bytes to the registers.  Of lanes that ask
for the same in pairs, beside each other or one apart, twice as many are served at once (measured by
Greg Smith of NVIDIA, forums.developer.nvidia.com/t/77228).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from equality import language as ir
from equality.points import Points

LANES = 32
_SECTOR, _BANKS, _WORD, _WIDEST = 32, 32, 4, 16


class Requests:
    """The requests of the first warp with everything else at its first value, access by access.

    `found` has for each memory, array and mode the pairs of bytes that a lane moves and sectors
    (shared memory: passes); None where the first warp does not take part as a whole.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], set] = defaultdict(set)
        self.seen: set[int] = set()
        #: The extents of the thread indices; the vectorized loops under way, and what follows them.
        self.threads: dict[str, int] = {}
        self.vectors: set[int] = set()

    def note(
        self,
        node: Any,
        where: tuple[str, str, str],
        address: Any,
        width: int,
        moved: int,
        at: Points,
    ) -> None:
        """The first execution of an access of `moved` bits.

        `address` is that of each point, in elements of `width` bits.
        """
        if ir.key(node) in self.seen or not self.threads:
            return
        self.seen.add(ir.key(node))
        lanes = self._lanes(at, np.broadcast_to(address, (at.size,)))
        if lanes is None:
            self.found[where].add(None)
            return
        together = self._vector(lanes, 8 * _WIDEST // moved)
        moved = min(max(moved * together // 8, 1), _WIDEST)
        first = lanes[:, 0] * width // 8
        if where[0] == "global":
            self.found[where].add((moved, sectors(first, moved)))
        else:
            self.found[where].add((moved, passes(first, moved, where[2] == "read")))

    @contextmanager
    def chosen_by(self, names: Set[int]) -> Iterator[None]:
        """Within, what a condition on the variables `names` chooses.

        Of a vector whose lanes it tells apart, TVM makes scalars (``Scalarize`` in
        ``src/tirx/transform/vectorize_loop.cc``).
        """
        vectors = self.vectors
        if not vectors.isdisjoint(names):
            self.vectors = set()
        try:
            yield
        finally:
            self.vectors = vectors

    def result(self) -> list[Any]:
        return [
            [*where, None if None in found else sorted(found)]
            for where, found in sorted(self.found.items())
        ]

    def number_in_block(self, at: Points) -> np.ndarray:
        """The thread of each point, numbered through; of threads that wait, the first."""
        number: Any = 0
        for tag in reversed(ir.THREADS):
            number = number * self.threads.get(tag, 1) + at.columns.get(tag, 0)
        return at.full(number)

    def _lanes(self, at: Points, address: np.ndarray) -> np.ndarray | None:
        """The addresses of the lanes of the first warp, a column for each iteration of a vector."""
        whole = min(LANES, int(np.prod(list(self.threads.values()))))
        number = self.number_in_block(at)
        same = np.ones(at.size, dtype=bool)
        for name, column in at.columns.items():
            if isinstance(column, np.ndarray) and name not in at.threads | self.vectors:
                same &= column == column[0]
        if at.waiting:
            return np.broadcast_to(address[same], (whole, int(same.sum())))
        rows = np.flatnonzero(same & (number < LANES))
        rows = rows[np.argsort(number[rows], kind="stable")]
        numbers, counts = np.unique(number[rows], return_counts=True)
        if len(numbers) < whole or len(set(counts.tolist())) != 1:
            return None
        return address[rows].reshape(whole, -1)

    @staticmethod
    def _vector(lanes: np.ndarray, most: int) -> int:
        """How many neighbours one instruction moves: those of a vectorized loop."""
        together = lanes.shape[1]
        if together > 1 and (np.diff(lanes, axis=1) == 1).all():
            return max(min(together, most), 1)
        return 1


def sectors(first: np.ndarray, width: int) -> int:
    return len(
        {byte // _SECTOR for start in first.tolist() for byte in range(start, start + width)}
    )


def passes(first: np.ndarray, width: int, loaded: bool) -> int:
    together = LANES * _WORD // max(width, _WORD)
    if loaded and _twice(first):
        together = min(2 * together, LANES)
    total = 0
    for start in range(0, len(first), together):
        wanted: dict[int, set[int]] = defaultdict(set)
        for address in first[start : start + together].tolist():
            for word in range(address // _WORD, (address + width - 1) // _WORD + 1):
                wanted[word % _BANKS].add(word)
        total += max(map(len, wanted.values()))
    return total


def _twice(first: np.ndarray) -> bool:
    """Whether all lanes share what they ask for with a neighbour, or with the one after that."""
    if (
        len(first) % 4 == 0
        and (first.reshape(-1, 2, 2)[:, 0] == first.reshape(-1, 2, 2)[:, 1]).all()
    ):
        return True
    return len(first) % 2 == 0 and bool((first[::2] == first[1::2]).all())
