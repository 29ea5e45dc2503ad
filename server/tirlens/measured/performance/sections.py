"""The section of a trace that is reported, so that compilation and warm-up are not counted.

Programs mark sections with Tracy's signposts, NVTX ranges or torch's ``record_function``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tirlens.measured.groups import Gaps
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import Operation, Signpost

# Below this part of the operations, ranges do not structure a program: libraries mark theirs, too.
_LEAST_COVERED = 0.5


class SectionError(Exception):
    """A signpost that the trace does not have; the text names those that it has."""


@dataclass(frozen=True)
class SectionChoice:
    """What the user asks for.

    Attributes
    ----------
    start, end
        From the first signpost `start` on; up to the first signpost `end` behind it.
    name
        The last section of this name.
    ignore
        The whole trace.
    by_rows
        The order of rows is that of execution, which the host's times are not where a recorded
        trace is replayed.
    """

    start: str | None = None
    end: str | None = None
    name: str | None = None
    ignore: bool = False
    by_rows: bool = False


@dataclass(frozen=True)
class Section:
    """The operations of a section in their order, with the gaps between them.

    Attributes
    ----------
    signposts
        Those inside, each with the number of operations before it.
    note
        What was chosen, where the user did not ask for it.
    """

    operations: tuple[Operation, ...]
    signposts: tuple[tuple[int, Signpost], ...] = ()
    note: str | None = None


_Key = tuple[bool, float]


def choose_section(trace: Trace, choice: SectionChoice) -> Section:
    """The operations of the section that `choice` asks for.

    Without a choice it is the last one that has operations: what follows the last mark, or the
    last of the outermost ranges where these have at least half of the operations.

    Raises
    ------
    SectionError
        The trace has no signpost of a name that is asked for.
    """
    order = _Order(trace, choice)
    window, note = _window(order, choice)
    low, high = window
    first, last = order.rank(low), order.rank(high)
    operations = order.operations[first:last]
    signposts = tuple(
        (order.rank(order.begin(post)) - first, post)
        for post in order.signposts
        if low < order.begin(post) < high
    )
    if note is not None and len(operations) < len(order.operations):
        note += f": {len(operations):,} of {len(order.operations):,} operations"
    return Section(_with_gaps(operations), signposts, note)


class _Order:
    """Operations and signposts on one axis: the host's order, the time, or the rows."""

    def __init__(self, trace: Trace, choice: SectionChoice) -> None:
        posts = trace.signposts
        self._by_order = not choice.by_rows and any(
            record.order is not None for record in (*trace.operations[:1], *posts[:1])
        )
        self._by_time = (
            not self._by_order
            and not choice.by_rows
            and bool(posts)
            and all(post.start_s is not None for post in posts)
        )
        keyed = sorted(
            ((self._key_of(operation), operation) for operation in trace.operations),
            key=lambda pair: pair[0],
        )
        self.keys = [key for key, _ in keyed]
        self.operations = [operation for _, operation in keyed]
        self.signposts = sorted(posts, key=self.begin)

    def _key_of(self, operation: Operation) -> _Key:
        if self._by_order:
            return _key(operation.order)
        if self._by_time:
            # A kernel runs after the range that launched it has ended.
            launched_s = operation.launched_s
            return _key(operation.start_s if launched_s is None else launched_s)
        return _key(operation.position.row)

    def begin(self, post: Signpost) -> _Key:
        if self._by_order:
            return _key(post.order)
        return _key(post.start_s if self._by_time else post.position.row)

    def end(self, post: Signpost) -> _Key | None:
        """The end of a range, None for a mark."""
        return _key(post.end_s) if self._by_time and post.end_s is not None else None

    def rank(self, key: _Key) -> int:
        """The number of operations before `key`."""
        return bisect_left(self.keys, key)


_FIRST: _Key = (False, float("-inf"))
_LAST: _Key = (True, float("inf"))


def _key(value: float | None) -> _Key:
    """Records without a number are behind all others."""
    return (True, 0.0) if value is None else (False, float(value))


def _window(order: _Order, choice: SectionChoice) -> tuple[tuple[_Key, _Key], str | None]:
    """The half-open range of keys, and what is said of it."""
    if choice.start is not None or choice.end is not None:
        return _between(order, choice), None
    if choice.name is not None:
        post = _posts_of(order, choice.name)[-1]
        return (order.begin(post), order.end(post) or _LAST), None
    if choice.ignore or not order.signposts:
        return (_FIRST, _LAST), None
    section = _last_section(order)
    if section is None:
        return (_FIRST, _LAST), None
    low, high = order.begin(section), order.end(section) or _LAST
    return (low, high), f"section {section.name!r}"


def _between(order: _Order, choice: SectionChoice) -> tuple[_Key, _Key]:
    low, first = _FIRST, None
    if choice.start is not None:
        first = _posts_of(order, choice.start)[0]
        low = order.begin(first)
    if choice.end is None:
        return low, _LAST
    ends = _posts_of(order, choice.end)
    if first is not None and choice.end == choice.start and (own := order.end(first)) is not None:
        return low, own
    last = next((post for post in ends if order.begin(post) > low), None)
    if last is None:
        raise SectionError(f"no signpost {choice.end!r} is behind {choice.start!r}")
    return low, order.end(last) or order.begin(last)


def _posts_of(order: _Order, name: str) -> Sequence[Signpost]:
    found = [post for post in order.signposts if post.name == name]
    if not found:
        names = list(dict.fromkeys(post.name for post in order.signposts))
        listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise SectionError(
            f"no signpost {name!r}; there are: {listed}" if names else "no signposts"
        )
    return found


def _last_section(order: _Order) -> Signpost | None:
    ranges = _outermost(order)
    if not ranges:
        last = order.keys[-1] if order.keys else _FIRST
        return next((post for post in reversed(order.signposts) if order.begin(post) < last), None)
    counts = [
        order.rank(order.end(post) or _LAST) - order.rank(order.begin(post)) for post in ranges
    ]
    if sum(counts) < _LEAST_COVERED * len(order.keys):
        return None
    with_operations = (
        post for post, count in zip(reversed(ranges), reversed(counts), strict=True) if count
    )
    return next(with_operations, None)


def _outermost(order: _Order) -> list[Signpost]:
    """The ranges that are inside no other one."""
    found: list[Signpost] = []
    covered = _FIRST
    for post in order.signposts:
        end = order.end(post)
        if end is not None and (order.begin(post) >= covered):
            found.append(post)
            covered = end
    return found


def _with_gaps(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations with the time that their device idled before each.

    It is not known for the first of a device, nor beside an operation whose time is not known.
    Operations of several streams begin in another order than they are launched: what runs meanwhile
    is no gap.
    """
    gaps = Gaps()
    is_time_known: dict[str | None, bool] = {}
    found = list(operations)
    for number in sorted(range(len(found)), key=lambda number: _key(found[number].start_s)):
        operation = found[number]
        gap_s = gaps.gap_before_s(operation)
        if operation.kind != "host":
            has_time = operation.time_s is not None
            if not (has_time and is_time_known.get(operation.device, False)):
                gap_s = None
            is_time_known[operation.device] = has_time
        if gap_s != operation.gap_s:
            found[number] = replace(operation, gap_s=gap_s)
    return tuple(found)
