"""Results on disk: found while everything that they depend on is the same."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tirlens.pipeline.result_store import ResultStore, result_key
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Analyze, KernelRequest, Problem, Result

REQUEST = Analyze(1, "/a.py", "text", (KernelRequest("f", "prim_func", Span(1, 0, 1, 0)),))
RESULT = Result(1, problems=(Problem("trace", "a message"),), output="printed")


def test_what_was_added_is_found(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "new")
    assert store.find("a") is None
    store.add("a", RESULT)
    assert store.find("a") == RESULT
    assert store.find("b") is None
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.json.z"]


@pytest.mark.parametrize("content", [b"", b"no data", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_entry_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json.z").write_bytes(content)
    assert ResultStore(tmp_path).find("a") is None


@pytest.mark.parametrize("kind", ["cancelled", "interpreter", "crash", "timeout"])
def test_an_accident_is_not_stored(tmp_path: Path, kind: str) -> None:
    store = ResultStore(tmp_path)
    store.add("a", Result(1, problems=(Problem(kind, ""),)))
    assert store.find("a") is None


def test_an_imported_module_that_changes(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "store")
    module, missing = tmp_path / "module.py", tmp_path / "missing.py"
    module.write_text("SIZE = 1")
    store.add("a", replace(RESULT, files=(str(module), str(missing))))
    assert store.find("a") is not None
    module.write_text("SIZE = 2")
    assert store.find("a") is None
    module.write_text("SIZE = 1")
    assert store.find("a") is not None, "the same content at another time"
    missing.write_text("")
    assert store.find("a") is None, "a module that was missing"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = ResultStore(tmp_path / "file" / "below")
    store.add("a", RESULT)
    assert store.find("a") is None
    store.prune()


def test_the_least_recently_used_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ResultStore(tmp_path)
    for name in "abc":
        store.add(name, RESULT)
    size = (tmp_path / "a.json.z").stat().st_size
    for age, name in enumerate("bca"):
        (tmp_path / f"{name}.json.z").touch()
        os.utime(tmp_path / f"{name}.json.z", (1000 + age, 1000 + age))
    monkeypatch.setattr("tirlens.pipeline.result_store._MAX_BYTES", 2 * size)
    store.prune()
    assert [store.find(name) is not None for name in "abc"] == [True, False, True]


def test_the_key_has_all_that_a_result_depends_on() -> None:
    variants: list[tuple[Analyze, str, dict[str, str], tuple[str, ...]]] = [
        (REQUEST, "python 3.12", {}, ()),
        (replace(REQUEST, text="other"), "python 3.12", {}, ()),
        (replace(REQUEST, path="/b.py"), "python 3.12", {}, ()),
        (replace(REQUEST, kernels=()), "python 3.12", {}, ()),
        (replace(REQUEST, target={"arch": "sm_90"}), "python 3.12", {}, ()),
        (REQUEST, "python 3.13", {}, ()),
        (REQUEST, "python 3.12", {"TVM_HOME": "/tvm"}, ()),
        (REQUEST, "python 3.12", {}, ("sm_90",)),
    ]
    keys = [result_key(*variant) for variant in variants]
    assert len(set(keys)) == len(keys)
    same = replace(REQUEST, id=7, time_limit_s=99.0)
    assert result_key(same, "python 3.12", {}, ()) == keys[0]
