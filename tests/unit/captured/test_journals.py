"""The journals of processes become one capture, also where a process was killed."""

from __future__ import annotations

from pathlib import Path

from tirlens.captured.journals import read_journals
from tirlens_worker.capture.journal import Journal

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
