"""The folders in which the modules of a user's project are found."""

from __future__ import annotations

from pathlib import Path

from tirlens_worker.program.load import project_folders, search_folders


def test_tests_find_the_package_of_their_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name in ("src/package", "tests/unit"):
        (tmp_path / name).mkdir(parents=True)
    test = str(tmp_path / "tests/unit/test_it.py")
    assert project_folders(test) == [str(tmp_path), str(tmp_path / "src")]
    first, *_, last = search_folders(test, ("extra",))
    assert (first, last) == (str(tmp_path / "tests/unit"), str(tmp_path / "src"))


def test_sources_of_a_framework_do_not_stand_for_the_framework(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / "tilelang").mkdir()
    (tmp_path / "python/tvm").mkdir(parents=True)
    assert project_folders(str(tmp_path / "examples/kernel.py")) == []
