"""Operations of a trace that has too many to keep, summed by kernel within sections."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tirlens.measured.groups import Gaps, Identity, add_time, identity_of, known_sum
from tirlens.measured.records import Operation, Problem, Signpost
from tirlens.measured.spread import Spread

#: A trace with more operations has their sums.
MOST_OPERATIONS = 50_000
#: With more sums, further kernels have one for all sections; with twice as many, one for all.
MOST_SUMS = 20_000

_BEFORE_ALL = float("-inf")


@dataclass(slots=True)
class _Sum:
    """Executions of one kernel, without the quantiles that `groups.Group` has."""

    first: Operation
    executions: int = 0
    time: Spread = field(default_factory=Spread.without_quantiles)
    host_time_s: float | None = None
    gap_s: float | None = None
    flop: int | None = 0
    dram_bytes: int | None = 0

    def add(self, operation: Operation, gap_s: float | None) -> None:
        self.executions += operation.executions
        add_time(self.time, operation)
        if operation.host_time_s is not None:
            self.host_time_s = (self.host_time_s or 0.0) + operation.host_time_s
        if gap_s is not None:
            self.gap_s = (self.gap_s or 0.0) + gap_s
        self.flop = known_sum(self.flop, operation.flop)
        self.dram_bytes = known_sum(self.dram_bytes, operation.dram_bytes)

    def operation(self) -> Operation:
        """The first operation with the sums of all; counters are of single operations."""
        if self.executions == self.first.executions:
            return self.first
        return replace(
            self.first,
            executions=self.executions,
            time_s=self.time.total if self.time.count else None,
            min_s=self.time.minimum,
            max_s=self.time.maximum,
            deviation_s=self.time.deviation,
            host_time_s=self.host_time_s,
            gap_s=self.gap_s,
            flop=self.flop,
            dram_bytes=self.dram_bytes,
            counters={},
        )


_Key = tuple[float | None, Identity | None, bool]


class Folding:
    """Keeps operations as they come; beyond `MOST_OPERATIONS`, their sums.

    A sum is of one kernel between two boundaries of sections, so that each section has the sums of
    its own operations.  Readers give a section before the operations in it; one that begins before
    an operation that is summed is a problem.
    """

    def __init__(self) -> None:
        #: Operations that are in a sum.
        self.summed = 0
        self._kept: list[Operation] = []
        self._sums: dict[_Key, _Sum] = {}
        self._signposts: list[Signpost] = []
        self._bounds: list[float] = []
        self._latest = _BEFORE_ALL
        self._gaps = Gaps()

    def add(self, operation: Operation) -> None:
        """Keep one more operation, or sum it."""
        if not self.summed and len(self._kept) < MOST_OPERATIONS:
            self._kept.append(operation)
            return
        if not self.summed:
            for signpost in self._signposts:
                self._bound(signpost)
            for kept in self._kept:
                self._add_to_sum(kept)
            self._kept.clear()
        self._add_to_sum(operation)

    def add_signpost(self, signpost: Signpost) -> Problem | None:
        """A section; a problem where operations behind its begin are summed already."""
        if not self.summed:
            self._signposts.append(signpost)
        elif self._begin(signpost) < self._latest:
            return Problem(
                signpost.position,
                f"the section {signpost.name!r} is left out: operations inside are summed already",
            )
        else:
            self._bound(signpost)
        return None

    def operations(self) -> Iterator[Operation]:
        """The operations or sums, in the order of their first operations."""
        yield from self._kept
        for each in self._sums.values():
            yield each.operation()

    def _add_to_sum(self, operation: Operation) -> None:
        self.summed += 1
        position = self._position(operation)
        self._latest = max(self._latest, position)
        index = bisect_right(self._bounds, position)
        segment = self._bounds[index - 1] if index else _BEFORE_ALL
        has_time = operation.time_s is not None
        key: _Key = segment, identity_of(operation), has_time
        if key not in self._sums and len(self._sums) >= MOST_SUMS:
            key = None, key[1], has_time
            if key not in self._sums and len(self._sums) >= 2 * MOST_SUMS:
                key = None, None, has_time
        found = self._sums.get(key)
        if found is None:
            first = operation if key[1] else _without_identity(operation)
            found = self._sums.setdefault(key, _Sum(first))
        found.add(operation, self._gaps.gap_before_s(operation))

    # Positions are those by which `sections` selects.
    def _position(self, operation: Operation) -> float:
        if operation.order is not None:
            return operation.order
        if self._signposts and self._signposts[0].start_s is not None:
            launched_s = operation.launched_s
            start_s = operation.start_s if launched_s is None else launched_s
            return _BEFORE_ALL if start_s is None else start_s
        return operation.position.row

    def _begin(self, signpost: Signpost) -> float:
        if signpost.order is not None:
            return signpost.order
        return signpost.position.row if signpost.start_s is None else signpost.start_s

    def _bound(self, signpost: Signpost) -> None:
        insort(self._bounds, self._begin(signpost))
        if signpost.end_s is not None and signpost.order is None:
            insort(self._bounds, signpost.end_s)
        if not self._signposts:
            self._signposts.append(signpost)


def _without_identity(operation: Operation) -> Operation:
    return Operation(
        "(operations of further kernels)",
        operation.position,
        kind=operation.kind,
        start_s=operation.start_s,
        launched_s=operation.launched_s,
        order=operation.order,
    )
