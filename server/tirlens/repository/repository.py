"""The calls of the kernels of open files in their repository."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tirlens.evaluation.search_result import Search, Target
from tirlens.evaluation.syntax import SyntaxCache
from tirlens.repository.search import find_calls
from tirlens.repository.search_store import SearchStore
from tirlens.repository.word_index import WordIndex

MOST_CHARACTERS = 4_000_000
"""The length of the texts whose trees are kept for further searches: about 250 MB."""


class Repository:
    """The calls of kernels in one folder and below.

    Parameters
    ----------
    root
        The folder.
    store
        The file that stores the index between runs.
    beat
        Called at each step of a search, so that a watch sees that there are steps.
    """

    def __init__(self, root: Path, store: Path, beat: Callable[[], None] = lambda: None) -> None:
        self.root = root
        self._beat = beat
        self._index = WordIndex(root, store)
        self._store = SearchStore(self._index, store)
        self._found: dict[Target, Search] = {}
        self._syntaxes = SyntaxCache(MOST_CHARACTERS)

    def refresh(self, say: Callable[[int], None] = lambda count: None) -> bool:
        """Read the files that have changed; whether a search has to be made again."""
        changed = self._index.refresh(say)
        self._syntaxes.forget(changed)
        before = len(self._found)
        self._found = {
            target: search
            for target, search in self._found.items()
            if not self._concerns(changed - {target.path}, target, search)
        }
        return len(self._found) < before

    def _concerns(self, changed: frozenset[str], target: Target, search: Search) -> bool:
        """Whether a change of files may change the result of a search."""
        if any(_stamp(self.root / path) != stamp for path, stamp in search.data_files.items()):
            return True
        if not changed:
            return False
        name = target.name.rpartition(".")[2]
        return bool(changed & search.files) or bool(
            changed.intersection(self._index.files_with(name))
        )

    def depends_on(self, targets: Sequence[Target], files: frozenset[str]) -> bool:
        """Whether the calls of some functions may be others if `files` are.

        The files are named by their paths relative to the root.
        """
        return any(
            self._concerns(files, target, search) for target, search in self.search(targets).items()
        )

    def search(self, targets: Sequence[Target]) -> dict[Target, Search]:
        """The calls of some functions of one file."""
        known = {item: self._found[item] for item in targets if item in self._found}
        new = [target for target in dict.fromkeys(targets) if target not in known]
        found: dict[Target, Search] = {}
        if new:
            found = self._store.find(new)
            found = {
                target: search
                for target, search in found.items()
                if not self._concerns(frozenset(), target, search)
            }
        missing = [target for target in new if target not in found]
        if missing:
            searched = find_calls(self._index, missing, None, self._beat, self._syntaxes)
            found |= searched
            self._store.add(searched)
        self._found |= found
        return known | found


def _stamp(path: Path) -> int:
    """The time of the last change of a file; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
