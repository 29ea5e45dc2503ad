"""Searches that are stored between runs: a search takes seconds, and most files do not change."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, cast

from tirlens import evaluation
from tirlens.evaluation.search_result import KnownValue, RepositoryCall, Search, Target
from tirlens.repository.word_index import WordIndex
from tirlens.version import __version__
from tirlens_worker.facts import Span

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS searches"
    " (path TEXT, name TEXT, version TEXT, data TEXT, PRIMARY KEY (path, name))"
)


class SearchStore:
    """The last search for each function of a repository.

    One is valid while the files that it read, those that contain the function's name and the
    function's own file are as they were, and no other file contains the name.

    Parameters
    ----------
    index
        The words of the repository, as they are now.
    file
        Where the searches are stored.
    """

    def __init__(self, index: WordIndex, file: Path) -> None:
        self._index = index
        self._file = file

    def find(self, targets: Iterable[Target]) -> dict[Target, Search]:
        """The valid searches for `targets`."""
        found: dict[Target, Search] = {}
        with contextlib.suppress(sqlite3.Error, OSError):
            if not self._file.exists():
                return found
            with contextlib.closing(self._connect()) as data:
                for target in targets:
                    rows = data.execute(
                        "SELECT data FROM searches WHERE path = ? AND name = ? AND version = ?",
                        (target.path, target.name, _version()),
                    )
                    for (text,) in rows:
                        with contextlib.suppress(ValueError, KeyError, TypeError):
                            stored = cast("dict[str, Any]", json.loads(text))
                            if stored["stamps"] == self._stamps(target, stored["search"]["files"]):
                                found[target] = _search(stored["search"])
        return found

    def add(self, searches: Mapping[Target, Search]) -> None:
        """Store `searches`; what cannot be stored is searched again in the next run."""
        rows = [
            (target.path, target.name, _version(), self._text(target, search))
            for target, search in searches.items()
        ]
        with contextlib.suppress(sqlite3.Error, OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(self._connect()) as data, data:
                data.executemany("INSERT OR REPLACE INTO searches VALUES (?, ?, ?, ?)", rows)

    def _text(self, target: Target, search: Search) -> str:
        values = {
            "calls": [asdict(call) for call in search.calls],
            "values": dict(search.values),
            "relations": list(search.relations),
            "known": [asdict(value) for value in search.known],
            "missing": dict(search.missing),
            "files": sorted(search.files),
            "data_files": dict(search.data_files),
        }
        stamps = self._stamps(target, search.files)
        return json.dumps({"stamps": stamps, "search": values}, separators=(",", ":"))

    def _stamps(self, target: Target, files: Iterable[str]) -> dict[str, str]:
        named = self._index.files_with(target.name.rpartition(".")[2])
        return {path: self._index.stamp(path) for path in sorted({target.path, *files, *named})}

    def _connect(self) -> sqlite3.Connection:
        data = sqlite3.connect(self._file, timeout=1.0)
        data.execute(_SCHEMA)
        return data


def _search(values: Mapping[str, Any]) -> Search:
    calls = (
        RepositoryCall(
            item["expression"], Span(**item["span"]), item["kind"], dict(item["bindings"])
        )
        for item in values["calls"]
    )
    return Search(
        tuple(calls),
        {name: tuple(texts) for name, texts in values["values"].items()},
        dict(values["missing"]),
        tuple(values["relations"]),
        tuple(
            KnownValue(item["name"], item["text"], Span(**item["span"])) for item in values["known"]
        ),
        frozenset(values["files"]),
        dict(values["data_files"]),
    )


@cache
def _version() -> str:
    """What changes when the code of a search changes, in an editable installation too."""
    files = (Path(__file__), Path(evaluation.__file__))
    stamps = [path.stat() for file in files for path in sorted(file.parent.glob("*.py"))]
    text = " ".join(f"{one.st_mtime_ns} {one.st_size}" for one in stamps)
    return f"{__version__} {hashlib.sha256(text.encode()).hexdigest()}"
