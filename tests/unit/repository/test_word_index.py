"""The index of words: incremental, stored on disk, without folders of other people's code."""

from __future__ import annotations

import os
from pathlib import Path

from tirlens.repository.word_index import WordIndex


def test_files_with_a_word(tmp_path: Path) -> None:
    for name in (
        "a.py",
        "deep/b.py",
        ".hidden/c.py",
        "node_modules/d.py",
        "venv/lib/e.py",
        "f.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("matmul(1)\nmatmul_2(2)")
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    index = WordIndex(tmp_path)
    assert index.refresh()
    assert sorted(index.files_with("matmul")) == ["a.py", "deep/b.py"]
    assert index.files_with("matmul_3") == []
    assert index.files_with("mat") == []


def test_only_what_has_changed_is_read(tmp_path: Path) -> None:
    store = tmp_path / "store" / "index.sqlite"
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("alpha")
    (root / "b.py").write_text("beta")
    first = WordIndex(root, store)
    assert first.refresh() == {"a.py", "b.py"}
    assert not first.refresh()
    second = WordIndex(root, store)
    assert not second.refresh(), "stored"
    assert second.files_with("alpha") == ["a.py"]
    (root / "a.py").write_text("gamma")
    os.utime(root / "a.py", (1, 1))
    (root / "b.py").unlink()
    assert second.refresh()
    assert second.files == ("a.py",)
    assert not WordIndex(root, store).refresh()
    store.write_bytes(b"damaged")
    third = WordIndex(root, store)
    assert third.refresh()
    assert third.files_with("gamma") == ["a.py"]
