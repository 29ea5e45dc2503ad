"""Where analysed lines stand in the text as it is now."""

from __future__ import annotations

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from tirlens.ide.line_map import LineMap, align

_LINES = st.lists(st.sampled_from("abcdefgh"), max_size=14)


@settings(max_examples=200)
@given(_LINES, _LINES)
def test_alignment_rises_and_only_joins_equal_lines(old: list[str], new: list[str]) -> None:
    found = align(old, new)
    placed = [at for at in found if at is not None]
    assert placed == sorted(set(placed))
    assert all(old[line] == new[at] for line, at in enumerate(found) if at is not None)


@settings(max_examples=200)
@given(st.data())
def test_unique_lines_follow_any_edits_and_come_back_on_undo(data: st.DataObject) -> None:
    """Edits of whole lines against a reference that carries an identity with each line."""
    old = [f"line {index}" for index in range(20)]
    now: list[tuple[int | None, str]] = list(enumerate(old))
    for step in range(data.draw(st.integers(0, 8))):
        start = data.draw(st.integers(0, len(now)))
        end = data.draw(st.integers(start, min(len(now), start + 3)))
        count = data.draw(st.integers(0, 3))
        now[start:end] = [(None, f"new {step} {index}") for index in range(count)]
    found = align(old, [text for _, text in now])
    assert found == [
        next((at for at, (identity, _) in enumerate(now) if identity == line), None)
        for line in range(20)
    ]
    assert align(old, old) == list(range(20))


def test_changed_line_loses_its_place_and_its_neighbours_keep_theirs() -> None:
    lines = LineMap.between(["a", "b", "c", "d"], ["new", "a", "b!", "c", "d"])
    assert [lines.current_line(line) for line in (1, 2, 3, 4, 5, 0)] == [2, None, 4, 5, None, None]
    assert [lines.analysed_line(line) for line in (1, 2, 3, 4)] == [None, 1, None, 3]
    assert lines.is_unchanged(3, 4)
    assert not lines.is_unchanged(1, 3)
    assert lines.nearest_current_line(2) == 3


def test_text_that_was_cut_in_two_is_not_intact() -> None:
    assert not LineMap.between(["a", "b"], ["a", "inserted", "b"]).is_unchanged(1, 2)


def test_five_thousand_lines_take_milliseconds() -> None:
    random_ = random.Random(1)
    old = [f"x{random_.randrange(3000)} = 1" if i % 3 else "" for i in range(5000)]
    new = list(old)
    for _ in range(200):
        new[random_.randrange(5000)] = "changed"
        new.insert(random_.randrange(5000), "")
    began = time.thread_time()
    align(old, new)
    assert time.thread_time() - began < 0.25


def test_a_changed_line_is_replaced_by_the_one_in_its_place() -> None:
    lines = LineMap.between(["a", "b", "c", "d", "e"], ["new", "a", "b!", "d", "e!"])
    replaced = [lines.replaced_line(line) for line in range(1, 7)]
    assert replaced == [2, 3, None, 4, 5, None]
