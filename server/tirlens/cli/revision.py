"""A git revision: which files differ in the working tree, and a checkout of its files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tirlens import repository
from tirlens.cli.errors import UsageError


@dataclass(frozen=True)
class Revision:
    """A commit of the repository at `root`, with the commits of its submodules.

    `files` are the paths it has, `changed` those, old and new, that differ in the working tree,
    `renamed` the old path of each file that has another now.  All are relative to `root`.
    `trees` are the commits by the folder of their repository, the outermost first; `missing` the
    submodules whose commit of then is not in this clone, with that commit.
    """

    root: Path
    commit: str
    files: frozenset[str]
    changed: frozenset[str]
    renamed: Mapping[str, str]
    trees: Mapping[str, str]
    missing: Mapping[str, str]

    def path_of(self, path: Path) -> str:
        """`path` relative to the repository; it may be outside (``../x.py``)."""
        return PurePosixPath(os.path.relpath(os.path.realpath(path), self.root)).as_posix()

    def before(self, path: Path) -> str | None:
        """The path of the file `path` at the revision; None if it did not exist.

        Raises:
            UsageError: it is in a submodule whose commit of then is not in this clone.
        """
        now = self.path_of(path)
        old = self.renamed.get(now, now)
        return old if old in self.files else None

    def has_changed(self, path: Path) -> bool:
        """Whether the file `path` has changed.

        Raises:
            UsageError: it is in a submodule whose commit of then is not in this clone.
        """
        now = self.path_of(path)
        if now.startswith("../"):
            return False
        places = [now, *map(str, PurePosixPath(now).parents)]
        for place in places:
            if place in self.missing and place in self.changed:
                raise UsageError(
                    f"{path}: commit {self.missing[place][:12]} of the submodule {place} is not in "
                    f"this clone; git -C {place} fetch origin {self.missing[place]} may bring it"
                )
        exists = (self.root / now).exists()
        return any(p in self.changed for p in places) or (exists and self.before(path) is None)

    def deleted_files(self) -> list[str]:
        """The files of the commit that were removed and not renamed."""
        renamed_paths = set(self.renamed.values())
        gone = (p for p in self.changed & self.files if not (self.root / p).exists())
        return sorted(path for path in gone if path not in renamed_paths)

    def write(self, folder: Path) -> None:
        """Write the commit's files to `folder`, and links to what git does not track here.

        What is built or installed in a working tree (a version file, an environment) is needed to
        import its modules.

        Raises:
            UsageError: git cannot write it.
        """
        for path, commit in self.trees.items():
            _write_tree(self.root / path, commit, folder / path)
        for path in self.missing:
            _link(self.root / path, folder / path)


def _write_tree(root: Path, commit: str, folder: Path) -> None:
    index = {"GIT_INDEX_FILE": str(folder) + ".index", "GIT_LFS_SKIP_SMUDGE": "1"}
    git(root, "read-tree", commit, **index)
    git(root, "checkout-index", "--all", "--quiet", f"--prefix={folder}/", **index)
    Path(index["GIT_INDEX_FILE"]).unlink()
    for path in _split(
        git(root, "ls-files", "-z", "--others", "--directory", "--no-empty-directory")
    ):
        _link(root / path, folder / path)


def revision(path: Path, name: str) -> Revision:
    """The revision `name` of the repository of `path`; ``A...`` is the merge base with ``A``.

    In a submodule it is the repository that contains the submodule, unless the working directory
    is in the submodule as well.

    Raises:
        UsageError: there is no git, no repository or no such revision.
    """
    root = _root(path)
    return _at(root, _commit(root, name))


def _root(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    try:
        root = _line(git(folder, "rev-parse", "--show-toplevel"))
        here = os.path.realpath(Path.cwd())
        while not Path(here).is_relative_to(root):
            outer = _line(git(Path(root), "rev-parse", "--show-superproject-working-tree"))
            if not outer:
                break
            root = outer
    except UsageError as error:
        message = f"{folder} is in no git repository, which --base needs"
        raise UsageError(message if "not a git repository" in str(error) else str(error)) from None
    return Path(root)


def _at(root: Path, commit: str) -> Revision:
    """The commit of the repository at `root`, with those of the submodules that are there now."""
    renamed: dict[str, str] = {}
    changed: set[str] = set()
    what_differs = ("--name-status", "-z", "-M", "--ignore-submodules=dirty")
    entries = iter(_split(git(root, "diff", "--no-ext-diff", *what_differs, commit, "--")))
    for status in entries:
        path = next(entries)
        changed.add(path)
        if status[0] == "R":
            old, path = path, next(entries)
            renamed[path] = old
            changed.add(path)
    files: set[str] = set()
    trees, missing = {"": commit}, dict[str, str]()
    for entry in _split(git(root, "ls-tree", "-r", "-z", commit)):
        head, _, path = entry.partition("\t")
        _, kind, object_id = head.split()
        if kind != "commit":
            files.add(path)
        elif not (root / path / ".git").exists():
            continue
        elif repository.commit_of(root / path, object_id) is None:
            missing[path] = object_id
        else:
            inner = _at(root / path, object_id)
            changed.discard(path)
            files.update(f"{path}/{item}" for item in inner.files)
            changed.update(f"{path}/{item}" for item in inner.changed)
            renamed |= {f"{path}/{now}": f"{path}/{old}" for now, old in inner.renamed.items()}
            trees |= {f"{path}/{item}".rstrip("/"): one for item, one in inner.trees.items()}
            missing |= {f"{path}/{item}": one for item, one in inner.missing.items()}
    return Revision(root, commit, frozenset(files), frozenset(changed), renamed, trees, missing)


def search_folders(paths: Iterable[str]) -> Iterator[str]:
    """The folders from which the modules at `paths` are imported: above their packages."""
    seen: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)  # noqa: PTH120
        while os.path.exists(os.path.join(folder, "__init__.py")):  # noqa: PTH110, PTH118
            folder = os.path.dirname(folder)  # noqa: PTH120
        if folder not in seen:
            seen.add(folder)
            yield folder


def git(folder: Path, *arguments: str, **environment: str) -> str:
    """What a git command prints.

    Raises:
        UsageError: git is missing, or the command fails.
    """
    try:
        printed = repository.git(folder, *arguments, **environment)
    except repository.GitMissingError:
        raise UsageError("--base needs git, which is not installed") from None
    except repository.GitError as error:
        raise UsageError(str(error)) from None
    return printed.decode("utf-8", "surrogateescape")


def _commit(root: Path, name: str) -> str:
    """The id of the commit that `name` names."""
    commit = repository.commit_of(root, name)
    if commit is not None:
        return commit
    if git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        remedy = "fetch all of it: git fetch --unshallow, or fetch-depth: 0 of actions/checkout"
        raise UsageError(f"--base {name} is not in this shallow clone; {remedy}")
    raise UsageError(f"--base {name}: this repository has no such commit; git fetch may bring it")


def _link(original: Path, link: Path) -> None:
    # A submodule is written as an empty folder; what the commit has wins over what is untracked.
    if link.is_dir() and not link.is_symlink() and not any(link.iterdir()):
        link.rmdir()
    if link.parent.is_dir() and not os.path.lexists(link):
        link.symlink_to(original, target_is_directory=original.is_dir())


def _line(printed: str) -> str:
    return printed.rstrip("\n")


def _split(listed: str) -> list[str]:
    return [item for item in listed.split("\0") if item]
