"""The order of launches: whatever was launched is read back, and repetition costs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.captured import order as order_module
from tirlens.captured.file_format import Capture, CapturedCall, CaptureError, merge, read, to_text
from tirlens.captured.journals import read_journals
from tirlens.captured.order import LaunchOrder, OrderedLaunch, OrderFolder, order_json
from tirlens.captured.sections import SectionChoice, choose_launches
from tirlens_worker.capture.journal import Journal

LAYER = [0, 1, 2, 1, 3, 4, 5, 1]
STEP = [8, *(LAYER * 32), 9]


def launch(number: int) -> OrderedLaunch:
    return OrderedLaunch((number,))


def fold(numbers: list[int]) -> LaunchOrder | None:
    folder = OrderFolder()
    for number in numbers:
        folder.add(launch(number))
    return folder.order()


def unfold(order: LaunchOrder) -> list[int]:
    return [one.call[0] for one in order if one.call is not None]


parts = st.recursive(
    st.lists(st.integers(0, 4), max_size=6),
    lambda inner: st.lists(st.tuples(st.integers(1, 5), inner), max_size=4).map(
        lambda groups: [number for count, part in groups for number in part * count]
    ),
    max_leaves=8,
)


@given(parts)
def test_what_is_folded_unfolds(numbers: list[int]) -> None:
    order = fold(numbers)
    assert order is not None
    assert (unfold(order), len(order)) == (numbers, len(numbers))


@pytest.mark.parametrize(
    ("numbers", "most"),
    [
        ([0] * 5000, 1),
        (STEP * 50, 20),
        ([7, 7, 6, *(STEP * 50), 5], 24),
        (list(range(300)) * 20, 301),
    ],
)
def test_what_repeats_is_written_once(numbers: list[int], most: int) -> None:
    order = fold(numbers)
    assert order is not None and unfold(order) == numbers
    text = json.dumps(order_json(order, lambda call: call[0])["sequence"])
    assert text.count(",") <= 2 * most


def test_an_order_that_does_not_repeat_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_module, "MOST_ITEMS", 100)
    assert fold(list(range(100))) is not None
    assert fold(list(range(101))) is None


def record(n: int) -> dict[str, Any]:
    return {
        "file": "gemm.py", "function": "matmul", "kernel": "main", "framework": "tvm",
        "call": f"matmul({n})", "at": "bench.py:3",
    }  # fmt: skip


def captured(folder: Path) -> Capture:
    """Three equal steps inside of a section, and two replays of a graph behind it."""
    journal = Journal(str(folder))
    journal.launch(record(1))
    for _ in range(3):
        journal.enter("step")
        journal.launch(record(2))
        journal.operation("torch.matmul")
        journal.leave()
    journal.begin_graph()
    for n in (1, 2):
        journal.launch(record(n))
    graph = journal.end_graph()
    for _ in range(2):
        journal.replay(graph)
    return read_journals(folder, "h100-sxm", "python bench.py").capture


def described(capture: Capture) -> list[tuple[str, tuple[str, ...], str]]:
    (order,) = capture.orders
    return [(one.operation or str(one.call and one.call[3]), one.path, one.graph) for one in order]


def test_the_order_of_a_journal_is_that_of_the_file(tmp_path: Path) -> None:
    journals = tmp_path / "journals"
    journals.mkdir()
    capture = captured(journals)
    expected = [
        ("matmul(1)", (), ""),
        *[("matmul(2)", ("step",), ""), ("torch.matmul", ("step",), "")] * 3,
        *[("matmul(1)", (), "begin"), ("matmul(2)", (), "inside")] * 2,
    ]
    assert described(capture) == expected
    path = tmp_path / "tirlens-captured.json"
    path.write_text(to_text(capture))
    assert read(path) == capture
    chosen = choose_launches(read(path), SectionChoice("step"))
    assert described(chosen) == expected[1:7]
    assert len(merge([capture, capture]).orders) == 2


CALL = CapturedCall("gemm.py", "matmul", "main", "tvm", "matmul(1)", 2)


@pytest.mark.parametrize(
    ("order", "word"),
    [
        ({"launches": [[1]], "sequence": [0]}, "number of no call"),
        ({"launches": [[0]], "sequence": [1]}, "number of no launch"),
        ({"launches": [[0]], "sequence": [True]}, "number of no launch"),
        ({"launches": [[0]], "sequence": [[0, [0]]]}, "no count"),
        ({"launches": [[0]], "sequence": [[2, 0]]}, "no list"),
        ({"launches": [[0]], "sequence": [[2]]}, "unpack"),
        ({"launches": [[0, [], "", "loop"]], "sequence": []}, "no place in a graph"),
        ({"launches": [[0, [1]]], "sequence": []}, "names of sections"),
        ({"launches": [[0]]}, "'sequence' is missing"),
        ({"launches": [[0]], "sequence": json.loads("[2, " * 70 + "[]" + "]" * 70)}, "launch"),
    ],
)
def test_what_is_no_order_is_refused(tmp_path: Path, order: Any, word: str) -> None:
    data = json.loads(to_text(merge([Capture("h100-sxm", (), (CALL,))])))
    path = tmp_path / "captured.json"
    path.write_text(json.dumps({**data, "orders": [order]}))
    with pytest.raises(CaptureError, match=word):
        read(path)
