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
    """A commit of the repository at `root`.

    `files` are the paths it has, `changed` those, old and new, that differ in the working tree,
    `renamed` the old path of each file that has another now.  All are relative to `root`.
    """

    root: Path
    commit: str
    files: frozenset[str]
    changed: frozenset[str]
    renamed: Mapping[str, str]

    def path_of(self, path: Path) -> str:
        """`path` relative to the repository; it may be outside (``../x.py``)."""
        return PurePosixPath(os.path.relpath(os.path.realpath(path), self.root)).as_posix()

    def before(self, path: Path) -> str | None:
        """The path of the file `path` at the revision; None if it did not exist."""
        now = self.path_of(path)
        old = self.renamed.get(now, now)
        return old if old in self.files else None

    def has_changed(self, path: Path) -> bool:
        """Whether the file `path`, or the submodule that contains it, has changed."""
        now = self.path_of(path)
        if now.startswith("../"):
            return False
        exists = (self.root / now).exists()
        places = [now, *map(str, PurePosixPath(now).parents)]
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
        index = {"GIT_INDEX_FILE": str(folder) + ".index", "GIT_LFS_SKIP_SMUDGE": "1"}
        git(self.root, "read-tree", self.commit, **index)
        git(self.root, "checkout-index", "--all", "--quiet", f"--prefix={folder}/", **index)
        others = git(self.root, "ls-files", "-z", "--others", "--directory", "--no-empty-directory")
        submodules = (
            entry.partition("\t")[2]
            for entry in _split(git(self.root, "ls-files", "-z", "--stage"))
            if entry.startswith("160000 ")
        )
        for path in (*_split(others), *submodules):
            _link(self.root / path, folder / path)


def revision(folder: Path, name: str) -> Revision:
    """The revision `name` of the repository of `folder`; ``A...`` is the merge base with ``A``.

    Raises:
        UsageError: there is no git, no repository or no such revision.
    """
    try:
        root = Path(git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    except UsageError as error:
        message = f"{folder} is in no git repository, which --base needs"
        raise UsageError(message if "not a git repository" in str(error) else str(error)) from None
    commit = _commit(root, name)
    renamed: dict[str, str] = {}
    changed: set[str] = set()
    entries = iter(
        _split(git(root, "diff", "--no-ext-diff", "--name-status", "-z", "-M", commit, "--"))
    )
    for status in entries:
        path = next(entries)
        changed.add(path)
        if status[0] == "R":
            old, path = path, next(entries)
            renamed[path] = old
            changed.add(path)
    files = frozenset(_split(git(root, "ls-tree", "-r", "-z", "--name-only", commit)))
    return Revision(root, commit, files, frozenset(changed), renamed)


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


def _split(listed: str) -> list[str]:
    return [item for item in listed.split("\0") if item]
