"""The order in which a process launched kernels: a list in which what repeats is written once.

A step of a model is some layers that launch the same kernels, and a run is some equal steps.  The
list is folded while the launches are read: it needs memory for what does not repeat only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

#: Numbers and repetitions of one order; the order of a program that repeats less is not kept.
MOST_ITEMS = 100_000
#: Processes whose order is kept.
MOST_ORDERS = 64
_MOST_DEPTH = 64
# Earlier places of a launch that may be one period before its last one.
_MOST_PERIODS = 16
_MOST_REPEATS = 8
# A prime, so that the sum of a part of a list is its hash, and a base.
_MODULUS, _BASE = (1 << 61) - 1, 1_000_003

#: ``begin``: the first launch of the replay of a graph; ``inside``: a further one of it.
GraphPlace: TypeAlias = Literal["", "begin", "inside"]


@dataclass(frozen=True)
class OrderedLaunch:
    """What is launched, and where.

    Attributes
    ----------
    call
        The `CapturedCall.identity` of a kernel's call; None for an operation of another library.
    operation
        The name of that operation.
    path, since
        The sections, as `SectionLaunches` has them.
    graph
        Its place in the replay of a graph; empty outside of one.
    """

    call: tuple[Any, ...] | None
    operation: str = ""
    path: tuple[str, ...] = ()
    since: str = ""
    graph: GraphPlace = ""


@dataclass(frozen=True)
class Repeat:
    """A part of an order that happens `count` times in a row."""

    count: int
    items: tuple[Item, ...]


Item: TypeAlias = "int | Repeat"
"""The number of a launch in `LaunchOrder.launches`, or a part that repeats."""


@dataclass(frozen=True)
class LaunchOrder:
    """The launches of one process, the first one first: the distinct ones, and their numbers."""

    launches: tuple[OrderedLaunch, ...]
    items: tuple[Item, ...]

    def __len__(self) -> int:
        return _length(self.items)

    def __iter__(self) -> Iterator[OrderedLaunch]:
        return (self.launches[number] for number in _numbers(self.items))

    def chosen(self, is_chosen: Callable[[OrderedLaunch], bool]) -> LaunchOrder:
        """The order of the launches for which `is_chosen` holds."""
        kept = {number for number, launch in enumerate(self.launches) if is_chosen(launch)}
        return LaunchOrder(self.launches, _select(self.items, kept))


def _length(items: Sequence[Item]) -> int:
    return sum(
        item.count * _length(item.items) if isinstance(item, Repeat) else 1 for item in items
    )


def _numbers(items: Sequence[Item]) -> Iterator[int]:
    for item in items:
        if isinstance(item, Repeat):
            for _ in range(item.count):
                yield from _numbers(item.items)
        else:
            yield item


def _select(items: Sequence[Item], kept: set[int]) -> tuple[Item, ...]:
    found: list[Item] = []
    for item in items:
        if not isinstance(item, Repeat):
            found += [item] if item in kept else []
        elif inner := _select(item.items, kept):
            found.append(Repeat(item.count, inner))
    return tuple(found)


class OrderFolder:
    """Folds launches into an order as they come: two equal parts in a row become a repetition."""

    def __init__(self) -> None:
        self._launches: dict[OrderedLaunch, int] = {}
        # Numbers from 0 are launches, those below are repetitions: ``-1 - n`` is number n.
        self._repeats: list[tuple[int, tuple[int, ...]]] = []
        # Of each repetition, how many items the file has for it.
        self._sizes: list[int] = []
        self._repeat_numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._numbers: list[int] = []
        self._hashes: list[int] = [0]
        self._powers: list[int] = [1]
        self._places: dict[int, list[int]] = {}
        self._repeat_places: list[int] = []
        self._is_full = False

    def add(self, launch: OrderedLaunch) -> None:
        """Append a launch."""
        if self._is_full:
            return
        self._push(self._launches.setdefault(launch, len(self._launches)))
        while self._extends() or self._folds():
            pass
        self._is_full = len(self._numbers) > MOST_ITEMS

    def order(self) -> LaunchOrder | None:
        """The order of all launches; None if it has too many parts that do not repeat."""
        if self._is_full or self._size(self._numbers) > MOST_ITEMS:
            return None
        return LaunchOrder(tuple(self._launches), self._items(self._numbers))

    def _extends(self) -> bool:
        """Add what is behind a repetition to it, if it is once more the same."""
        numbers = self._numbers
        for at in reversed(self._repeat_places[-_MOST_REPEATS:]):
            before = numbers[at]
            count, part = self._repeats[-1 - before]
            if (
                len(part) == len(numbers) - 1 - at
                and part[-1] == numbers[-1]
                and part == tuple(numbers[at + 1 :])
            ):
                self._pop_last(len(part) + 1)
                if before == -len(self._repeats) and not self._places[before]:
                    # Nothing else has the shorter one.
                    del self._repeat_numbers[self._repeats.pop()]
                    self._sizes.pop()
                self._push_repeat(count + 1, part)
                return True
        return False

    def _folds(self) -> bool:
        """Make a repetition of the two last parts that are equal."""
        numbers, end = self._numbers, len(self._numbers)
        for place in reversed(self._places[numbers[-1]][-1 - _MOST_PERIODS : -1]):
            period = end - 1 - place
            begin = end - 2 * period
            if begin >= 0 and self._hash(begin, end - period) == self._hash(end - period, end):
                part = tuple(numbers[end - period :])
                if part == tuple(numbers[begin : end - period]):
                    self._pop_last(2 * period)
                    self._push_repeat(2, part)
                    return True
        return False

    def _push_repeat(self, count: int, part: tuple[int, ...]) -> None:
        key = (count, part)
        number = self._repeat_numbers.get(key)
        if number is None:
            number = self._repeat_numbers[key] = -1 - len(self._repeats)
            self._repeats.append(key)
            self._sizes.append(1 + self._size(part))
        self._push(number)

    def _push(self, number: int) -> None:
        place = len(self._numbers)
        self._numbers.append(number)
        self._hashes.append((self._hashes[-1] * _BASE + number) % _MODULUS)
        if len(self._powers) < len(self._hashes):
            self._powers.append(self._powers[-1] * _BASE % _MODULUS)
        self._places.setdefault(number, []).append(place)
        if number < 0:
            self._repeat_places.append(place)

    def _pop_last(self, count: int) -> None:
        for _ in range(count):
            number = self._numbers.pop()
            self._hashes.pop()
            self._places[number].pop()
            if number < 0:
                self._repeat_places.pop()

    def _hash(self, begin: int, end: int) -> int:
        return (self._hashes[end] - self._hashes[begin] * self._powers[end - begin]) % _MODULUS

    def _size(self, numbers: Sequence[int]) -> int:
        return sum(1 if number >= 0 else self._sizes[-1 - number] for number in numbers)

    def _items(self, numbers: Sequence[int]) -> tuple[Item, ...]:
        found: list[Item] = []
        for number in numbers:
            if number >= 0:
                found.append(number)
            else:
                count, part = self._repeats[-1 - number]
                found.append(Repeat(count, self._items(part)))
        return tuple(found)


def order_json(order: LaunchOrder, number_of: Callable[[tuple[Any, ...]], int]) -> dict[str, Any]:
    """The order as in the file, whose calls have the numbers that `number_of` gives."""
    return {
        "launches": [_launch_json(launch, number_of) for launch in order.launches],
        "sequence": _items_json(order.items),
    }


def _launch_json(launch: OrderedLaunch, number_of: Callable[[tuple[Any, ...]], int]) -> list[Any]:
    what = launch.operation if launch.call is None else number_of(launch.call)
    found = [what, list(launch.path), launch.since, launch.graph]
    while len(found) > 1 and not found[-1]:
        found.pop()
    return found


def _items_json(items: Sequence[Item]) -> list[Any]:
    return [
        [item.count, _items_json(item.items)] if isinstance(item, Repeat) else item
        for item in items
    ]


def order_of(data: Any, identities: Sequence[tuple[Any, ...]]) -> LaunchOrder:
    """The order that `order_json` has written, of calls with these identities.

    Raises
    ------
    ValueError
        It is none; the text says why.
    """
    launches = tuple(_launch_of(item, identities) for item in data["launches"])
    return LaunchOrder(launches, _items_of(data["sequence"], len(launches), 0))


def _launch_of(data: Any, identities: Sequence[tuple[Any, ...]]) -> OrderedLaunch:
    absent: list[Any] = [None, [], "", ""]
    what, path, since, graph = [*data, *absent[len(data) :]]
    if graph not in ("", "begin", "inside"):
        raise ValueError(f"{graph!r} is no place in a graph")
    names = [*path, since]
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{names!r} are no names of sections")
    where = (tuple(path), since, graph)
    if isinstance(what, str):
        return OrderedLaunch(None, what, *where)
    if type(what) is not int or not 0 <= what < len(identities):
        raise ValueError(f"{what!r} is the number of no call")
    return OrderedLaunch(identities[what], "", *where)


def _items_of(data: Any, launches: int, depth: int) -> tuple[Item, ...]:
    if depth > _MOST_DEPTH:
        raise ValueError("the order of launches is nested too deeply")
    if not isinstance(data, list):
        raise ValueError(f"{str(data)[:40]} is no list of launches")
    found: list[Item] = []
    for item in cast("list[Any]", data):
        if isinstance(item, list):
            count, inner = cast("list[Any]", item)
            if type(count) is not int or count < 1:
                raise ValueError(f"{str(count)[:40]} is no count")
            found.append(Repeat(count, _items_of(inner, launches, depth + 1)))
        elif type(item) is int and 0 <= item < launches:
            found.append(item)
        else:
            raise ValueError(f"{str(item)[:40]} is the number of no launch")
    return tuple(found)
