"""Commits of a git repository, and its files in them. Nothing is fetched or changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path, PurePosixPath


class GitError(Exception):
    """A git command failed; the text is what git says."""


class GitMissingError(GitError):
    """Git is not installed."""


def git(folder: Path, *arguments: str, **environment: str) -> bytes:
    """What a git command prints.

    Raises:
        GitMissingError: there is no git.
        GitError: the command fails.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **environment},
        )
    except FileNotFoundError:
        raise GitMissingError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()
        raise GitError(message or f"git {arguments[0]} fails") from None
    return done.stdout


def root_of_git(folder: Path) -> Path:
    """The top folder of the repository of `folder`.

    Raises:
        GitError: there is no git or no repository.
    """
    return Path(_line(git(folder, "rev-parse", "--show-toplevel")))


def commit_of(root: Path, name: str) -> str | None:
    """The id of the commit that `name` names; ``A...`` is the merge base with ``A``.

    None if the repository has no such commit.

    Raises:
        GitMissingError: there is no git.
    """
    start, dots, _ = name.partition("...")
    try:
        commit = git(
            root, "rev-parse", "--verify", "--quiet", "--end-of-options", start + "^{commit}"
        )
        return _line(git(root, "merge-base", _line(commit), "HEAD") if dots else commit)
    except GitMissingError:
        raise
    except GitError:
        return None


def text_at(root: Path, commit: str, path: Path) -> str | None:
    """The text of the file `path` in `commit`; None if it had no such file, or no text."""
    inside = PurePosixPath(os.path.relpath(os.path.realpath(path), root)).as_posix()
    try:
        return git(root, "cat-file", "blob", f"{commit}:{inside}").decode("utf-8")
    except (GitError, UnicodeDecodeError):
        return None


def _line(printed: bytes) -> str:
    return printed.decode("utf-8", "surrogateescape").strip("\n")
