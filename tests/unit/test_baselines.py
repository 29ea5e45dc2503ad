"""Pinned versions: where they are stored, which one holds, and what they say after a restart."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tirlens.repository import GitError
from tirlens.session.baselines import Baseline, Pins

IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.com")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *IDENTITY, *arguments], check=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "kernels" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("first")
    return path


def test_a_pinned_text_holds_after_a_restart(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "state"
    assert Pins(store).find(file) is None
    name = Pins(store).pin_text(file, "text")
    assert Pins(store).find(file) == Baseline(name, "text")
    assert Pins(store).find(file.with_name("b.py")) is None
    assert store.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in store.iterdir())
    Pins(store).clear(file)
    assert Pins(store).find(file) is None


def test_the_later_of_a_commit_and_a_text_holds(file: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    file.write_text("second")
    pins = Pins(tmp_path / "state")
    assert pins.pin_commit(file, "HEAD") == "HEAD"
    git(project, "commit", "-q", "-a", "-m", "second")
    assert pins.find(file) == Baseline("HEAD", "first"), "what HEAD was when it was pinned"
    assert pins.find(file.with_name("new.py")) is None
    name = pins.pin_text(file, "third")
    assert pins.find(file) == Baseline(name, "third")
    pins.pin_commit(file, "HEAD~1...")
    assert pins.find(file) == Baseline("HEAD~1...", "first")


def test_a_revision_that_there_is_not(file: Path, tmp_path: Path) -> None:
    pins = Pins(tmp_path / "state")
    with pytest.raises(GitError):
        pins.pin_commit(file, "HEAD")
    git(tmp_path / "project", "init", "-q")
    with pytest.raises(GitError, match="no revision v1"):
        pins.pin_commit(file, "v1")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"path": 1}', '{"name": "x"}'])
def test_a_damaged_store_has_no_baseline(file: Path, tmp_path: Path, content: str) -> None:
    store = tmp_path / "state"
    pins = Pins(store)
    pins.pin_text(file, "text")
    for path in store.iterdir():
        path.write_text(content)
    assert pins.find(file) is None
