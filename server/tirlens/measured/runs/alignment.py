"""Which operation of one run is which operation of another one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from tirlens.measured.runs.run import Element, Key

Relation = Literal["same", "moved", "other-launch", "other-work", "new", "gone"]


@dataclass(frozen=True)
class Pair:
    """An element of both runs, or of one.

    `relation`: ``same`` key at the same place; ``moved``, the same key at another place;
    ``other-launch``, another name, grid or block for arguments of the same sizes;
    ``other-work``, the same name with another launch or other sizes, where it is not known that
    both compute the same; ``new`` and ``gone``, in one run only.
    """

    before: Element | None
    now: Element | None
    relation: Relation


def align(before: Sequence[Element], now: Sequence[Element]) -> list[Pair]:
    """The pairs in the order of `now`, with what is gone where it was.

    Elements of one key are paired where the sequences agree, then wherever they are.  What is left
    between two agreeing places is paired in its order if both sides have as many, and at last what
    is left of one name, if each side has one; where neither name nor work is the same, it is new.
    """
    blocks = list(_blocks([item.key for item in before], [item.key for item in now]))
    partners: dict[int, tuple[int, Relation]] = {}
    for block in blocks:
        if block.is_equal:
            partners.update((j, (i, "same")) for i, j in zip(block.before, block.now, strict=True))
    _pair_moved(before, now, partners)
    for block in blocks:
        paired = {i for i, _ in partners.values()}
        old = [i for i in block.before if i not in paired]
        new = [j for j in block.now if j not in partners]
        if old and len(old) == len(new):
            for i, j in zip(old, new, strict=True):
                relation = _relation(before[i].key, now[j].key)
                if relation is not None:
                    partners[j] = i, relation
    _pair_same_names(before, now, partners)
    return list(_in_order(before, now, blocks, partners))


@dataclass(frozen=True)
class _Block:
    """A part of both sequences between two places where they agree."""

    before: range
    now: range
    is_equal: bool


def _blocks(before: Sequence[Key], now: Sequence[Key]) -> Iterator[_Block]:
    matcher = SequenceMatcher(None, before, now, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        yield _Block(range(i, i_end), range(j, j_end), tag == "equal")


def _pair_moved(
    before: Sequence[Element], now: Sequence[Element], partners: dict[int, tuple[int, Relation]]
) -> None:
    paired = {i for i, _ in partners.values()}
    left: defaultdict[Key, deque[int]] = defaultdict(deque)
    for i, element in enumerate(before):
        if i not in paired:
            left[element.key].append(i)
    for j, element in enumerate(now):
        if j not in partners and left[element.key]:
            partners[j] = left[element.key].popleft(), "moved"


def _pair_same_names(
    before: Sequence[Element], now: Sequence[Element], partners: dict[int, tuple[int, Relation]]
) -> None:
    """Pair what is left where one element of each run has a name."""
    paired = {i for i, _ in partners.values()}
    old: defaultdict[str, list[int]] = defaultdict(list)
    new: defaultdict[str, list[int]] = defaultdict(list)
    for i, element in enumerate(before):
        if i not in paired:
            old[element.key.name].append(i)
    for j, element in enumerate(now):
        if j not in partners:
            new[element.key.name].append(j)
    for name, (j, *more) in new.items():
        if not more and len(old[name]) == 1:
            (i,) = old[name]
            relation = _relation(before[i].key, now[j].key)
            if relation is not None:
                partners[j] = i, relation


def _relation(before: Key, now: Key) -> Relation | None:
    """What two elements of different keys have in common; None for nothing."""
    if before.has_same_work(now):
        return "other-launch"
    return "other-work" if before.name == now.name else None


def _in_order(
    before: Sequence[Element],
    now: Sequence[Element],
    blocks: Sequence[_Block],
    partners: dict[int, tuple[int, Relation]],
) -> Iterator[Pair]:
    paired = {i for i, _ in partners.values()}
    for block in blocks:
        yield from (Pair(before[i], None, "gone") for i in block.before if i not in paired)
        for j in block.now:
            if j in partners:
                i, relation = partners[j]
                yield Pair(before[i], now[j], relation)
            else:
                yield Pair(None, now[j], "new")
