"""A search in a thread waits while the server does what someone waits for."""

from __future__ import annotations

import threading
from pathlib import Path

from tirlens import source
from tirlens.repository import Repository
from tirlens.session.foreground import Foreground


def test_a_thread_waits_until_all_is_done() -> None:
    foreground, passed = Foreground(), threading.Event()

    def other_work() -> None:
        foreground.wait_until_idle()
        passed.set()

    foreground.wait_until_idle()
    with foreground.busy():
        with foreground.busy():
            thread = threading.Thread(target=other_work)
            thread.start()
            assert not passed.wait(0.1)
        assert not passed.wait(0.1)
    assert passed.wait(10)
    thread.join()
    foreground.wait_until_idle()


def test_a_search_waits_at_each_file_and_statement(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "import tilelang\n\n\n@tilelang.jit\ndef scale(n):\n    return n\n"
    )
    (tmp_path / "use.py").write_text("from kernel import scale\n\nscale(64)\nscale(128)\n")
    pauses: list[int] = []
    repository = Repository(tmp_path, tmp_path / "store.sqlite", lambda: pauses.append(1))
    repository.refresh()
    text = source.read((tmp_path / "kernel.py").read_text())
    found = repository.with_calls(text, tmp_path / "kernel.py")
    assert [item.expression for item in found.kernels[0].candidates][:2]
    # Two files, and two calls at least.
    assert len(pauses) >= 4
