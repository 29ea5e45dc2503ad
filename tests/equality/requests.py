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
from typing import Any, NamedTuple

import numpy as np

from equality import language as ir
from equality.points import Points

Where = tuple[str, str, str]
LANES = 32
_SECTOR, _BANKS, _WORD, _WIDEST = 32, 32, 4, 16


class Requests:
    """The requests of the first warp with everything else at its first value, access by access.

    `found` has for each memory, array and mode the pairs of bytes that a lane moves and sectors
    (shared memory: passes); None where the first warp does not take part as a whole.
    """

    def __init__(self, planned: bool) -> None:
        self.found: dict[Where, set] = defaultdict(set)
        self.seen: set[int] = set()
        #: The extents of the thread indices; the loop whose turns are lanes, and what follows it.
        self.threads: dict[str, int] = {}
        self.vectors: set[int] = set()
        #: Whether tilelang plans how long vectors are, and what the loop under way has for that.
        self.planned = planned
        self.plan: Plan | None = None
        self._in_vector = False
        self._lane: int | None = None

    def note(
        self,
        node: Any,
        where: Where,
        address: Any,
        width: int,
        moved: int,
        at: Points,
    ) -> None:
        """The first execution of an access of `moved` bits.

        `address` is that of each point, in elements of `width` bits.
        """
        if ir.key(node) in self.seen or not (at.threads or at.waiting):
            # What stands beside the loops over threads is of no warp.
            return
        self.seen.add(ir.key(node))
        address = np.broadcast_to(address, (at.size,))
        lanes = self._lanes(at, address)
        if self.plan is not None:
            self.plan.take(where, lanes, width, self._in_turn(at, address))
        elif lanes is None:
            self.found[where].add(None)
        else:
            self._add(where, lanes[:, 0], width, moved, self._vector(lanes, 8 * _WIDEST // moved))

    def _add(self, where: Where, first: np.ndarray, width: int, moved: int, together: int) -> None:
        if where[0] not in ("global", "shared"):
            return
        moved = min(max(moved * together // 8, 1), _WIDEST)
        first = first * width // 8
        if where[0] == "global":
            self.found[where].add((moved, sectors(first, moved)))
        else:
            self.found[where].add((moved, passes(first, moved, where[2] == "read")))

    @contextmanager
    def loop(self, variable: int, vectorized: bool, length: Set[int]) -> Iterator[None]:
        """Within, the body of a loop; `length` are the variables that its extent mentions.

        TVM makes a vector of the outermost vectorized loop (``VectorizeLoop``), tilelang of the
        innermost loop in it (``VectorizePlanner`` in ``src/transform/loop_vectorize.cc``).
        """
        before, plan, inside, lane = self.vectors, self.plan, self._in_vector, self._lane
        if vectorized and not inside:
            self.vectors, self._in_vector, self._lane = {variable}, True, variable
            self.plan = Plan() if self.planned else None
        elif inside and self.planned:
            self.vectors, self._lane = {variable}, variable
        elif not before.isdisjoint(length):
            self.vectors = set()
        try:
            yield
        finally:
            if self.plan is not plan and self.plan is not None:
                for where, lanes, width, together in self.plan.made():
                    if lanes is None:
                        self.found[where].add(None)
                    else:
                        self._add(where, lanes[:, 0], width, width, together)
            self.vectors, self.plan, self._in_vector, self._lane = before, plan, inside, lane

    def divide(self, condition: Any, at: Points) -> None:
        """The values of a condition on lanes, which a planned vector does not tell apart."""
        if self.plan is not None:
            self.plan.divide(self._in_turn(at, condition))

    def _in_turn(self, at: Points, values: Any) -> Turns:
        """The values of all points, those of a thread's lanes beside each other."""
        values = at.full(values)
        turns = at.full(at.columns.get(self._lane, 0))
        others = [
            value
            for name, value in at.columns.items()
            if isinstance(value, np.ndarray) and name not in self.vectors
        ]
        order = np.lexsort((turns, *others))
        return Turns(turns[order], values[order])

    @contextmanager
    def chosen_by(self, names: Set[int]) -> Iterator[None]:
        """Within, what a condition on the variables `names` chooses.

        Of a vector whose lanes it tells apart, TVM makes scalars (``Scalarize`` in
        ``src/tirx/transform/vectorize_loop.cc``).
        """
        vectors = self.vectors
        if not self.planned and not vectors.isdisjoint(names):
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


class Turns(NamedTuple):
    """Values at the turns of a loop, thread after thread."""

    turns: np.ndarray
    values: np.ndarray

    def vectors(self, length: int) -> np.ndarray | None:
        """A row of values for each vector; None where some are not whole."""
        if len(self.turns) % length:
            return None
        turns = self.turns.reshape(-1, length)
        if (turns[:, 0] % length).any() or (np.diff(turns) != 1).any():
            return None
        return self.values.reshape(-1, length)


class Plan:
    """What tilelang has to know of a vectorized loop for its one length of vectors.

    That is the widest of up to 16 bytes for which all accesses are of aligned neighbours, or load
    one element for all lanes, and which no condition tells apart.
    """

    def __init__(self) -> None:
        self._most = _WIDEST
        self._noted: list[tuple[Where, np.ndarray | None, int]] = []

    def take(self, where: Where, lanes: np.ndarray | None, width: int, all_turns: Turns) -> None:
        """An access whose lanes have these addresses in the first warp, and in all threads."""
        self._noted.append((where, lanes, width))
        loads, memory = where[2] == "read", where[0] in ("global", "shared")
        while self._most > 1:
            vectors = all_turns.vectors(self._most)
            if vectors is not None:
                steps = np.diff(vectors)
                if loads and not steps.any():
                    return
                fits = not memory or self._most * width <= 8 * _WIDEST
                if fits and (steps == 1).all() and not (vectors[:, 0] % self._most).any():
                    return
            self._most //= 2

    def divide(self, chosen: Turns) -> None:
        """A condition with these values."""
        while self._most > 1:
            vectors = chosen.vectors(self._most)
            if vectors is not None and not np.diff(vectors.astype(np.int64)).any():
                return
            self._most //= 2

    def made(self) -> Iterator[tuple[Where, np.ndarray | None, int, int]]:
        """The accesses, each with the elements that an instruction moves."""
        for where, lanes, width in self._noted:
            same = lanes is not None and lanes.shape[1] % self._most == 0
            same = same and not np.diff(lanes.reshape(-1, self._most)).any()
            yield where, lanes, width, 1 if same else self._most


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
