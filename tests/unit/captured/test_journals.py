"""The journals of processes become one capture, also where a process was killed."""

from __future__ import annotations

import threading
from pathlib import Path

from tirlens.captured.journals import read_journals
from tirlens_worker.capture.journal import MOST_SECTIONS, Journal

LAUNCH = {
    "file": "gemm.py", "function": "matmul", "kernel": "main", "framework": "tvm",
    "call": "matmul(1024)", "at": "bench.py:3",
}  # fmt: skip


def test_processes_are_added(tmp_path: Path) -> None:
    for _ in range(2):
        journal = Journal(str(tmp_path))
        journal.begin()
        for _ in range(3):
            journal.launch(dict(LAUNCH))
        journal.launch({**LAUNCH, "sizes": {"m": 8}})
        journal.case("test_a", "failed", True)
        journal.case("test_b", "passed", False)
        journal.case("test_c", "skipped", False)
        journal.skip("triton kernel x")
    recorded = read_journals(tmp_path, "h100-sxm", "python bench.py")
    assert [(item.sizes, item.launches) for item in recorded.capture.calls] == [
        ({}, 6), ({"m": 8}, 2),
    ]  # fmt: skip
    assert (recorded.processes, recorded.launches) == (2, 8)
    assert (recorded.cases, recorded.without_launch) == (2, ("test_b",))
    assert recorded.skipped == ("triton kernel x",)


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.launch(dict(LAUNCH))
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text() + 'L {"file": "ot')
    assert read_journals(tmp_path, "", "").launches == 1


def test_launches_of_a_graph_happen_at_its_replay(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.begin_graph()
    journal.launch(dict(LAUNCH))
    graph = journal.end_graph()
    assert read_journals(tmp_path, "", "").launches == 0
    for _ in range(3):
        journal.replay(graph)
    assert read_journals(tmp_path, "", "").launches == 3


def sections_of(folder: Path) -> list[tuple[tuple[str, ...], str, int]]:
    """The launches of the only call, by its sections."""
    (call,) = read_journals(folder, "", "").capture.calls
    return [(one.path, one.since, one.launches) for one in call.sections]


def test_launches_have_the_sections_that_they_are_inside_of(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.launch(dict(LAUNCH))
    journal.enter("warm-up")
    journal.launch(dict(LAUNCH))
    journal.operation("torch.matmul")
    journal.leave()
    for _ in range(3):
        journal.enter("decode")
        journal.enter("attention")
        journal.launch(dict(LAUNCH))
        journal.leave()
        journal.launch(dict(LAUNCH))
        journal.leave()
    journal.launch(dict(LAUNCH))
    assert sections_of(tmp_path) == [
        ((), "attention", 1),
        (("decode",), "attention", 3),
        (("decode", "attention"), "attention", 3),
        (("warm-up",), "warm-up", 1),
    ]
    capture = read_journals(tmp_path, "", "").capture
    assert capture.sections == ("warm-up", "decode", "attention")
    assert capture.calls[0].launches == 9
    assert capture.others == {"torch.matmul": 1}
    assert capture.other_sections["torch.matmul"][0].path == ("warm-up",)


def test_sections_without_an_order_of_their_ends(tmp_path: Path) -> None:
    """Ranges that end in the order of their begins, as those of NVTX with handles may."""
    journal = Journal(str(tmp_path))
    first, second = journal.enter("a"), journal.enter("b")
    journal.leave(first)
    journal.launch(dict(LAUNCH))
    journal.leave(second)
    journal.leave(second)
    journal.leave()
    journal.leave()
    journal.launch(dict(LAUNCH))
    assert sections_of(tmp_path) == [((), "b", 1), (("b",), "b", 1)]


def test_a_graph_is_in_the_section_of_its_replay(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.enter("capture")
    journal.begin_graph()
    journal.launch(dict(LAUNCH))
    graph = journal.end_graph()
    journal.leave()
    journal.enter("decode")
    for _ in range(5):
        journal.replay(graph)
    assert sections_of(tmp_path) == [(("decode",), "decode", 5)]


def test_names_with_numbers_end(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    for step in range(MOST_SECTIONS + 10):
        journal.enter(f"step {step}")
        journal.launch(dict(LAUNCH))
        journal.leave()
    capture = read_journals(tmp_path, "", "").capture
    assert len(capture.sections) == MOST_SECTIONS
    assert capture.calls[0].launches == MOST_SECTIONS + 10
    outside = [one for one in capture.calls[0].sections if not one.path]
    assert sum(one.launches for one in outside) == 10


def test_sections_of_threads_are_their_own(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.enter("main")
    thread = threading.Thread(target=lambda: journal.launch(dict(LAUNCH)))
    thread.start()
    thread.join()
    journal.launch(dict(LAUNCH))
    assert sections_of(tmp_path) == [((), "main", 1), (("main",), "main", 1)]
