"""The texts that the kernels of a file had in the commits since they were measured."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tirlens.measured.matching.stored_times import StoredTime
from tirlens.repository import GitError, commits_of_file, root_of_git, text_at
from tirlens.source import read
from tirlens.source.digest import KernelDigests

_MOST_COMMITS = 50


def committed_digests(path: Path, times: Sequence[StoredTime]) -> Mapping[str, tuple[str, ...]]:
    """The digests of the successive texts of each kernel of `times` in the commits of its file.

    The first text is that of the last commit before the first measurement.  Empty without git.
    Executes git for some milliseconds a commit.
    """
    since = min((entry.measured_at for entry in times if entry.digest), default=None)
    if since is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for text in _texts(path, since):
        source = read(text, path)
        digests = KernelDigests(source)
        for name in {entry.kernel for entry in times}:
            own = {kernel.span.line for kernel in source.kernels if kernel.name == name}
            digest = digests.at(own.pop()) if len(own) == 1 else None
            before = found.get(name, ())
            if digest is not None and before[-1:] != (digest,):
                found[name] = (*before, digest)
    return found


def _texts(path: Path, since: datetime) -> list[str]:
    try:
        root = root_of_git(path.parent)
        commits = commits_of_file(path, since, _MOST_COMMITS)
        texts = [text_at(root, commit, path) for commit in commits]
    except GitError:
        return []
    return [text for text in texts if text is not None]


class CommittedTexts:
    """The digests of `committed_digests` of some files, found once for a set of times."""

    def __init__(self) -> None:
        self._found: dict[Path, tuple[Sequence[StoredTime], Mapping[str, tuple[str, ...]]]] = {}
        self._pending: set[Path] = set()
        self._lock = threading.Lock()

    def of(
        self, path: Path, times: Sequence[StoredTime], is_awaited: bool
    ) -> Mapping[str, tuple[str, ...]]:
        """The digests; empty while they are searched in a thread, unless they are awaited."""
        with self._lock:
            known = self._found.get(path)
            if known is not None and known[0] == times:
                return known[1]
            if not is_awaited and path in self._pending:
                return {}
            self._pending.add(path)
        if is_awaited:
            return self._search(path, times)
        threading.Thread(target=self._search, args=(path, times), daemon=True).start()
        return {}

    def _search(self, path: Path, times: Sequence[StoredTime]) -> Mapping[str, tuple[str, ...]]:
        found = committed_digests(path, times)
        with self._lock:
            self._found[path] = (times, found)
            self._pending.discard(path)
        return found
