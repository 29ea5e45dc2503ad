"""Control groups, on folders that stand in for the kernel's: few systems delegate real ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tirlens_worker.isolation import cgroup, limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")


class Kernel:
    """A process's view of a hierarchy that is mounted at `point`, at `own` in it."""

    def __init__(self, folder: Path, version: int = 2) -> None:
        self.proc = folder / "proc"
        self.point = folder / "cgroup"
        self.own = self.point / "app.slice" / "editor.scope"
        self.own.mkdir(parents=True)
        self.proc.mkdir()
        kind = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,memory"
        (self.proc / "mountinfo").write_text(f"30 29 0:26 / {self.point} rw - {kind}\n")
        name = "0::" if version == 2 else "4:memory:"
        (self.proc / "cgroup").write_text(f"{name}/app.slice/editor.scope\n1:cpu:/\n")

    def delegate(self, folder: Path, controllers: str = "cpu memory pids") -> None:
        (folder / "cgroup.subtree_control").write_text(controllers)
        (folder / "cgroup.procs").write_text("")


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel(tmp_path)
    _show(kernel, monkeypatch)
    return kernel


def _show(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "PROC", str(kernel.proc))
    monkeypatch.setattr("tirlens_worker.isolation.cgroup._State.own", None)
    cgroup.container_limit_bytes.cache_clear()


@pytest.fixture(autouse=True)
def _forget() -> None:
    cgroup.container_limit_bytes.cache_clear()


def test_there_is_no_group_where_none_is_delegated(kernel: Kernel) -> None:
    kernel.delegate(kernel.own.parent, "cpu pids")
    kernel.delegate(kernel.point)
    assert cgroup.create() is None
    assert not cgroup.is_possible()


@pytest.mark.parametrize("place", ["own", "beside"])
def test_a_group_has_limits_above_what_there_is(kernel: Kernel, place: str) -> None:
    folder = kernel.own if place == "own" else kernel.own.parent
    kernel.delegate(folder)
    assert cgroup.is_possible()
    group = cgroup.create()
    assert group is not None
    path = Path(group.path)
    assert path.parent == folder
    cgroup.join(group)
    assert cgroup.own() is group
    assert (path / "cgroup.procs").read_text() == "0"
    (path / "memory.current").write_text("300\n")
    (path / "pids.current").write_text("3\n")
    group.limit(1000, 64)
    assert (path / "memory.max").read_text() == "1300"
    assert (path / "memory.swap.max").read_text() == "0"
    assert (path / "pids.max").read_text() == "67"
    assert group.memory_kills == 0
    (path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\n")
    assert group.memory_kills == 2


def test_a_group_ends_with_all_that_it_has(kernel: Kernel) -> None:
    kernel.delegate(kernel.own)
    group = cgroup.create()
    assert group is not None
    group.end()
    # A real one can be removed with the files in it.
    assert (Path(group.path) / "cgroup.kill").read_text() == "1"
    (Path(group.path) / "cgroup.kill").unlink()


def test_a_group_that_a_killed_worker_left_is_removed(kernel: Kernel) -> None:
    kernel.delegate(kernel.own)
    old, new, foreign = (kernel.own / name for name in ("tirlens-1", "tirlens-2", "other"))
    for folder in (old, new, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (1, 1))
    assert cgroup.create() is not None
    assert not old.exists()
    assert new.exists() and foreign.exists()


@pytest.mark.parametrize("version", [1, 2])
def test_the_memory_of_a_container_limits_an_analysis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    kernel = Kernel(tmp_path, version)
    _show(kernel, monkeypatch)
    name = "memory.max" if version == 2 else "memory.limit_in_bytes"
    without = "max" if version == 2 else str(2**63 - 4096)
    (kernel.own / name).write_text(without + "\n")
    before = limits.memory_limit_bytes()
    cgroup.container_limit_bytes.cache_clear()
    (kernel.own.parent / name).write_text(f"{1 << 30}\n")
    assert limits.memory_limit_bytes() == 1 << 29
    assert before > 1 << 29


def test_a_container_sees_its_own_part_of_the_hierarchy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(tmp_path, 1)
    line = (kernel.proc / "mountinfo").read_text().replace(" / ", " /docker/1 ")
    (kernel.proc / "mountinfo").write_text(line)
    (kernel.proc / "cgroup").write_text("4:memory:/docker/1\n")
    (kernel.point / "memory.limit_in_bytes").write_text("4096\n")
    _show(kernel, monkeypatch)
    assert cgroup.container_limit_bytes() == 4096
