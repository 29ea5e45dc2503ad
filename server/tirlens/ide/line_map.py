"""The positions of the lines of an analysed text in the current text.

A displayed figure belongs to the text from which it was computed.  While the user types, each
analysed line is searched in the current text.  An unchanged line keeps its figures at its new
position; a changed or removed line loses them, and gets them back on undo.  The mapping depends
only on the two texts, not on the sequence of edits between them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from tirlens_worker.facts import Span

if TYPE_CHECKING:
    from collections.abc import Sequence


def align(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """For each line of `old` the index of the same line in `new`, or None.

    The indices increase strictly, and the lines at both indices are equal.  Lines that occur once
    on each side are anchors for the others (a patience diff), so the time is O(n log n).
    """
    old, new = list(old), list(new)
    found: list[int | None] = [None] * len(old)
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        old_start, old_end, new_start, new_end = waiting.pop()
        same = _common_prefix_length(old[old_start:old_end], new[new_start:new_end])
        found[old_start : old_start + same] = range(new_start, new_start + same)
        old_start, new_start = old_start + same, new_start + same
        same = _common_prefix_length(old[old_start:old_end][::-1], new[new_start:new_end][::-1])
        old_end, new_end = old_end - same, new_end - same
        found[old_end : old_end + same] = range(new_end, new_end + same)
        if old_start == old_end or new_start == new_end:
            continue
        anchors = _anchors(old, new, old_start, old_end, new_start, new_end)
        if not anchors:
            continue
        last_old, last_new = old_start, new_start
        for old_index, new_index in [*anchors, (old_end, new_end)]:
            waiting.append((last_old, old_index, last_new, new_index))
            last_old, last_new = old_index, new_index
    return found


def _common_prefix_length(one: list[str], other: list[str]) -> int:
    """How many lines at the start of both are the same, compared in long runs."""
    low, high = 0, min(len(one), len(other)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _anchors(
    old: Sequence[str],
    new: Sequence[str],
    old_start: int,
    old_end: int,
    new_start: int,
    new_end: int,
) -> list[tuple[int, int]]:
    """The longest rising chain of lines that are unique in both ranges."""
    in_old = _unique(old, old_start, old_end)
    in_new = _unique(new, new_start, new_end)
    pairs = [(index, in_new[line]) for line, index in in_old.items() if line in in_new]
    pairs.sort()
    tails: list[int] = []
    tail_pairs: list[int] = []
    previous: list[int] = []
    for position, (_, new_index) in enumerate(pairs):
        length = bisect_left(tails, new_index)
        previous.append(tail_pairs[length - 1] if length else -1)
        if length == len(tails):
            tails.append(new_index)
            tail_pairs.append(position)
        else:
            tails[length] = new_index
            tail_pairs[length] = position
    chain: list[tuple[int, int]] = []
    position = tail_pairs[-1] if tail_pairs else -1
    while position >= 0:
        chain.append(pairs[position])
        position = previous[position]
    chain.reverse()
    return chain


def _unique(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    for index in range(start, end):
        seen[lines[index]] = -1 if lines[index] in seen else index
    return {line: index for line, index in seen.items() if index >= 0}


@dataclass(frozen=True)
class LineMap:
    """Line numbers (1-based) of an analysed text in the current one, and back."""

    forward: Sequence[int | None]

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str]) -> LineMap:
        """The map from the lines of the text `old` to those of `new`."""
        return cls(align(old, new))

    @cached_property
    def _backward(self) -> dict[int, int]:
        return {at: line for line, at in enumerate(self.forward) if at is not None}

    @cached_property
    def _breaks(self) -> list[int]:
        """For each analysed line, how many lines up to it do not follow their predecessor."""
        pairs = zip([-1, *self.forward], self.forward, strict=False)
        return list(accumulate(at is None or at - 1 != before for before, at in pairs))

    def current_line(self, line: int) -> int | None:
        """The current number of the analysed `line`; None if it was changed or removed."""
        if not 1 <= line <= len(self.forward):
            return None
        at = self.forward[line - 1]
        return None if at is None else at + 1

    def replaced_line(self, line: int) -> int | None:
        """The current number of the analysed `line`, or of the line that took its place.

        Of several changed lines the first took the place of the first, and so on; None for those
        that have no such line.
        """
        above = line
        while above >= 1 and self.current_line(above) is None:
            above -= 1
        start = (self.current_line(above) or 0) if above >= 1 else 0
        at = start + line - above
        if above == line:
            return at
        below = next((item for item in self.forward[line - 1 :] if item is not None), None)
        is_free = below is None or at < below + 1
        return at if is_free and line <= len(self.forward) else None

    def analysed_line(self, line: int) -> int | None:
        """The number of the current `line` in the analysed text; None if it is new or changed."""
        at = self._backward.get(line - 1)
        return None if at is None else at + 1

    def is_unchanged(self, first: int, last: int) -> bool:
        """Whether the analysed lines `first` to `last` are unchanged and contiguous."""
        if self.current_line(first) is None or last > len(self.forward):
            return False
        return last <= first or self._breaks[first - 1] == self._breaks[last - 1]

    def nearest_current_line(self, line: int) -> int:
        """The current number of `line`, extrapolated from the nearest unchanged line above."""
        for above in range(line, 0, -1):
            at = self.current_line(above)
            if at is not None:
                return at + line - above
        return line

    def current_span(self, span: Span) -> Span:
        """The current position of `span`, approximate if its lines were changed."""
        first = self.nearest_current_line(span.line)
        shift = first - span.line
        return Span(first, span.column, span.end_line + shift, span.end_column, span.file)
