"""Which files have changed since a git revision, and how they were."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tirlens.cli.errors import UsageError
from tirlens.cli.revision import revision, search_folders

TEXT = "".join(f"line_{number} = {number}\n" for number in range(20))


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Four committed files."""
    root = tmp_path / "work"
    for name in ("kernels/same.py", "kernels/edited.py", "kernels/old.py", "kernels/gone.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n{TEXT * (1 + len(name) % 3)}")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_what_has_become_of_files(repository: Path, tmp_path: Path) -> None:
    kernels = repository / "kernels"
    (kernels / "edited.py").write_text("x = 1\n")
    git(repository, "mv", "kernels/old.py", "kernels/moved with space.py")
    (kernels / "gone.py").unlink()
    (kernels / "untracked.py").write_text("y = 1\n")
    (kernels / "_version.py").write_text("__version__ = '1'\n")
    base = revision(kernels, "HEAD")
    assert base.before(kernels / "same.py") == "kernels/same.py"
    assert base.before(kernels / "moved with space.py") == "kernels/old.py"
    assert base.before(kernels / "untracked.py") is None
    changed = {path.name: base.has_changed(path) for path in kernels.iterdir()}
    assert not changed.pop("same.py")
    assert all(changed.values())
    # The place of a module that is not there any more is another than before.
    assert base.has_changed(kernels / "gone.py")
    assert not base.has_changed(kernels / "never.py")
    assert not base.has_changed(tmp_path / "elsewhere.py")
    assert base.deleted_files() == ["kernels/gone.py"]
    tree = tmp_path / "tree"
    tree.mkdir()
    base.write(tree)
    assert (tree / "kernels/edited.py").read_text().startswith("# kernels/edited.py")
    assert (tree / "kernels/gone.py").exists()
    assert (tree / "kernels/_version.py").read_text() == "__version__ = '1'\n"
    assert not (repository / ".git" / "index.lock").exists()


def test_the_commit_where_a_branch_began(repository: Path) -> None:
    git(repository, "checkout", "-qb", "work")
    git(repository, "checkout", "-q", "main")
    (repository / "kernels/same.py").write_text("z = 1\n")
    git(repository, "commit", "-qam", "meanwhile")
    git(repository, "checkout", "-q", "work")
    same = repository / "kernels/same.py"
    assert revision(repository, "main").has_changed(same)
    assert not revision(repository, "main...").has_changed(same)


@pytest.fixture
def with_submodule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the submodule ``lib/ops``, which has a submodule ``inner`` of its own."""
    allow = ("-c", "protocol.file.allow=always")
    for name, file in (("inner", "deep.py"), ("ops", "k.py"), ("work", "main.py")):
        root = tmp_path / name
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
        (root / file).write_text(f"# {file}\n{TEXT}")
        git(root, "add", ".")
        git(root, "commit", "-qm", "first")
    git(tmp_path / "ops", *allow, "submodule", "add", "-q", str(tmp_path / "inner"), "inner")
    git(tmp_path / "ops", "commit", "-qam", "inner")
    work = tmp_path / "work"
    git(work, *allow, "submodule", "add", "-q", str(tmp_path / "ops"), "lib/ops")
    git(work, *allow, "submodule", "update", "-q", "--init", "--recursive")
    git(work, "commit", "-qam", "ops")
    monkeypatch.chdir(work)
    return work


def test_submodules_are_at_their_commits_of_then(with_submodule: Path, tmp_path: Path) -> None:
    ops = with_submodule / "lib/ops"
    assert not revision(with_submodule, "HEAD").has_changed(ops / "k.py")
    # A bump: another commit of the submodule, and an edit that is in none.
    (ops / "k.py").write_text("slower = True\n")
    git(ops, "commit", "-qam", "slower")
    git(with_submodule, "commit", "-qam", "bump")
    (ops / "inner/deep.py").write_text("edited = True\n")
    for place in (with_submodule, ops / "k.py"):
        base = revision(place, "HEAD~1")
        assert base.root == with_submodule
        assert base.before(ops / "k.py") == "lib/ops/k.py"
        assert base.has_changed(ops / "k.py") and base.has_changed(ops / "inner/deep.py")
        assert not base.has_changed(with_submodule / "main.py")
    tree = tmp_path / "tree"
    tree.mkdir()
    base.write(tree)
    assert (tree / "lib/ops/k.py").read_text() == f"# k.py\n{TEXT}"
    assert (tree / "lib/ops/inner/deep.py").read_text() == f"# deep.py\n{TEXT}"
    assert not list(tree.rglob("*.index"))


def test_in_a_submodule_it_is_the_repository(
    with_submodule: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ops = with_submodule / "lib/ops"
    monkeypatch.chdir(ops)
    assert revision(ops / "k.py", "HEAD").root == ops
    assert revision(ops / "k.py", "HEAD").before(ops / "k.py") == "k.py"


def test_a_commit_of_a_submodule_that_is_not_there(with_submodule: Path, tmp_path: Path) -> None:
    git(with_submodule, "update-index", "--cacheinfo", f"160000,{'1' * 40},lib/ops")
    git(with_submodule, "commit", "-qm", "lost")
    base = revision(with_submodule, "HEAD")
    assert not base.has_changed(with_submodule / "main.py")
    with pytest.raises(UsageError, match="commit 111111111111 of the submodule lib/ops"):
        base.has_changed(with_submodule / "lib/ops/k.py")
    tree = tmp_path / "tree"
    tree.mkdir()
    base.write(tree)
    assert (tree / "lib/ops").resolve() == with_submodule / "lib/ops"


@pytest.mark.parametrize("name", ["nowhere", "--all", "nowhere...", ""])
def test_no_such_revision(repository: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no such commit"):
        revision(repository, name)


def test_a_shallow_clone_is_told_how_to_be_made_whole(repository: Path, tmp_path: Path) -> None:
    (repository / "kernels/same.py").write_text("z = 1\n")
    git(repository, "commit", "-qam", "second")
    git(tmp_path, "clone", "-q", "--depth=1", repository.as_uri(), "shallow")
    assert revision(tmp_path / "shallow", "HEAD").files
    with pytest.raises(UsageError, match=r"shallow clone.*fetch-depth"):
        revision(tmp_path / "shallow", "HEAD~1")


def test_no_repository_and_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="in no git repository"):
        revision(tmp_path, "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="not installed"):
        revision(tmp_path, "HEAD")


def test_modules_are_imported_from_above_their_packages(tmp_path: Path) -> None:
    inner = tmp_path / "src" / "ops" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent):
        (folder / "__init__.py").touch()
    paths = [str(inner / "a.py"), str(inner.parent / "b.py"), str(tmp_path / "c.py")]
    assert list(search_folders(paths)) == [str(tmp_path / "src"), str(tmp_path)]
