"""Searches are stored between runs, and valid as long as the files that they depend on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tirlens import source
from tirlens.repository import repository, search_store, with_calls
from tirlens.repository.repository import Repository
from tirlens.repository.search import find_calls

KERNEL = """
import tilelang.language as T

def scale(rows):
    @T.prim_func
    def main(A: T.Tensor((rows, 128), "float32")):
        with T.Kernel(rows, threads=128) as bx:
            A[bx, 0] = 1
    return main
"""
BENCHMARK = """
import json
from kernel import scale

with open("sizes.json") as file:
    rows = json.load(file)["rows"]
scale(rows)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    _write(folder / "pyproject.toml", "")
    _write(folder / "kernel.py", KERNEL)
    _write(folder / "bench.py", BENCHMARK)
    _write(folder / "sizes.json", '{"rows": 1000}')
    _write(folder / "other.py", "x = 1\n")
    return folder


def _write(path: Path, text: str) -> None:
    """Write a file, at another time than the one before."""
    before = path.stat().st_mtime_ns if path.exists() else 10**18
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def _run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], bool]:
    """The calls that another process would know, and whether it searches for them."""
    searched: list[Any] = []

    def find(index: Any, targets: Sequence[Any], *others: Any) -> Any:
        searched.extend(targets)
        return find_calls(index, targets, *others)

    with monkeypatch.context() as patch:
        patch.setattr(repository, "find_calls", find)
        known = Repository(folder, folder.parent / "store.sqlite")
        known.refresh()
        path = folder / "kernel.py"
        (kernel,) = with_calls(source.read(path.read_text()), path, folder, known.search).kernels
    return [item.expression for item in kernel.candidates if item.span], bool(searched)


def _other_call(folder: Path) -> None:
    _write(folder / "other.py", "from kernel import scale\nscale(2000)\n")


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "the caller": (
        lambda folder: _write(folder / "bench.py", "from kernel import scale\nscale(500)\n"),
        ["scale(rows=500)"],
    ),
    "a file that it reads": (
        lambda folder: _write(folder / "sizes.json", '{"rows": 300}'),
        ["scale(rows=300)"],
    ),
    "another caller": (_other_call, ["scale(rows=1000)", "scale(rows=2000)"]),
    "a call without values": (
        lambda folder: _write(folder / "bench.py", "from kernel import scale\nscale(input())\n"),
        [],
    ),
    "no caller": (lambda folder: (folder / "bench.py").unlink(), []),
    "the kernel": (lambda folder: _write(folder / "kernel.py", KERNEL + "#"), ["scale(rows=1000)"]),
}


def test_another_run_does_not_search(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run(folder, monkeypatch)
    assert first == (["scale(rows=1000)"], True)
    assert _run(folder, monkeypatch) == (first[0], False)
    _write(folder / "other.py", "x = 2\n")
    assert _run(folder, monkeypatch) == (first[0], False)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_searched(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change, expected = CHANGES[name]
    _run(folder, monkeypatch)
    change(folder)
    calls, is_searched = _run(folder, monkeypatch)
    assert is_searched
    assert sorted(calls) == expected
    assert _run(folder, monkeypatch) == (calls, False)


def test_another_version_searches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(folder, monkeypatch)
    monkeypatch.setattr(search_store, "_version", lambda: "another")
    assert _run(folder, monkeypatch) == (["scale(rows=1000)"], True)


def test_a_store_that_is_damaged_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "store.sqlite").write_bytes(b"no database" * 1000)
    for _ in range(2):
        assert _run(folder, monkeypatch) == (["scale(rows=1000)"], True)
