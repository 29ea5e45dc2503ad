"""Commits of a git repository, and its files in them. Nothing is fetched or changed.

The configuration of a repository names programs, which git would execute: a monitor of the file
system, hooks, filters of files, converters for differences. None of them is executed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath

from tirlens.environment_variables import allowed_variables

_SETTINGS = (
    *("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.sshCommand=false"),
    *("core.gitProxy=", "credential.helper=", "protocol.allow=never"),
)
_VARIABLES = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    # What a partial clone lacks is not there.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
# Commands that read or write files of the working tree, which pass filters.
_FILTERING = frozenset({"checkout-index", "diff", "status"})
_CONVERTING = frozenset({"diff"})


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
    command, *rest = arguments
    filters = _without_filters(folder) if command in _FILTERING else []
    converters = ["--no-ext-diff", "--no-textconv"] if command in _CONVERTING else []
    return _run(folder, filters, [command, *converters, *rest], environment)


def _without_filters(folder: Path) -> list[str]:
    """The settings that turn off all filters of files that the configuration has."""
    try:
        named = _run(folder, [], ["config", "--name-only", "-z", "--get-regexp", r"^filter\."], {})
    except GitMissingError:
        raise
    except GitError:
        return []
    names = {
        key.split(".", 1)[1].rpartition(".")[0]
        for key in named.decode("utf-8", "surrogateescape").split("\0")
        if key
    }
    return [
        f"filter.{name}.{key}"
        for name in sorted(names)
        for key in ("clean=", "smudge=", "process=", "required=false")
    ]


def _run(
    folder: Path, settings: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]
) -> bytes:
    options = [part for setting in (*_SETTINGS, *settings) for part in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *options, *arguments],
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**allowed_variables(os.environ), **_VARIABLES, **environment},
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


def commits_of_file(path: Path, since: datetime, most: int) -> tuple[str, ...]:
    """The commits before `HEAD` that changed the file `path`: the last one up to `since`, if there
    is one, and those after it, the oldest first; of more than `most`, the latest ones.

    Raises:
        GitError: there is no git, no repository or no commit.
    """
    folder, name = path.parent, path.name

    def list_commits(limit: str, count: int) -> list[str]:
        options = (f"--max-count={count}", f"{limit}={since.isoformat()}", "HEAD")
        return git(folder, "rev-list", *options, "--", name).decode("ascii").split()

    later = list_commits("--since", most)
    base = list_commits("--until", 1) if len(later) < most else []
    return (*base, *reversed(later))


def text_at(root: Path, commit: str, path: Path) -> str | None:
    """The text of the file `path` in `commit`; None if it had no such file, or no text."""
    inside = PurePosixPath(os.path.relpath(os.path.realpath(path), root)).as_posix()
    try:
        return git(root, "cat-file", "blob", f"{commit}:{inside}").decode("utf-8")
    except (GitError, UnicodeDecodeError):
        return None


def _line(printed: bytes) -> str:
    return printed.decode("utf-8", "surrogateescape").strip("\n")
