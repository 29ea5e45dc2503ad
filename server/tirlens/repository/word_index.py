"""The index of a workspace: which files contain a word, and which import another one.

Incremental, and stored on disk.
"""

from __future__ import annotations

import array
import bisect
import contextlib
import os
import re
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tirlens.evaluation.modules import module_names
from tirlens.file_reader import read_bytes
from tirlens.repository.import_index import ImportIndex, imports_of

_WORD = re.compile(rb"[^\W\d]\w+")
_MAX_FILE_BYTES = 1 << 20
_MAX_FILES = 20_000
_SKIPPED_FOLDERS = {
    "node_modules", "__pycache__", "site-packages", "build", "dist", "3rdparty", "third_party",
}  # fmt: skip
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS indexed"
    " (path TEXT PRIMARY KEY, stamp TEXT, words BLOB, imports TEXT)"
)


@dataclass(frozen=True)
class _Entry:
    """A file's time of change and size, the sorted digests of its words, and its imports."""

    stamp: str
    words: array.array[int]
    imports: tuple[str, ...]

    def has(self, digest: int) -> bool:
        place = bisect.bisect_left(self.words, digest)
        return place < len(self.words) and self.words[place] == digest


class WordIndex:
    """The words and imports of the Python files below a folder.

    Hidden folders, virtual environments, and folders of other people's code are left out.

    Parameters
    ----------
    root
        The folder.
    store
        The file that stores the index between runs; None for no storage.
    """

    def __init__(self, root: Path, store: Path | None = None) -> None:
        self.root = root
        self._store = store
        self._entries: dict[str, _Entry] = {}
        self._found: dict[str, list[str]] = {}
        self._imports: ImportIndex | None = None
        self._lock = threading.Lock()
        self._is_loaded = False

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files relative to the root, with ``/``."""
        return tuple(self._entries)

    def stamp(self, path: str) -> str:
        """What changes when the file `path` does; empty if there is none."""
        entry = self._entries.get(path)
        if entry is not None:
            return entry.stamp
        try:
            return _stamp_of((self.root / path).stat())
        except OSError:
            return ""

    def files_with(self, word: str) -> list[str]:
        """The files that contain `word`; rarely, one that contains another word instead."""
        found = self._found.get(word)
        if found is None:
            digest = _digest(word.encode())
            found = [path for path, entry in self._entries.items() if entry.has(digest)]
            self._found[word] = found
        return found

    def files_that_know(self, name: str, path: str) -> set[str]:
        """The files that may use `name` of the module in the file `path`; itself is one.

        They contain the name of the module, or import one that imports all of its names, or a
        package around it that has `name`. Tests use the names of a ``conftest.py`` in one of their
        folders.
        """
        if PurePosixPath(path).name == "conftest.py":
            folder = path.removesuffix("conftest.py")
            return {file for file in self._entries if file.startswith(folder)}
        names = module_names(path)
        packages = ("/".join((*names[:end], "__init__.py")) for end in range(1, len(names)))
        providers = {path, *set(packages).intersection(self.files_with(name))}
        pending = [path]
        while pending:
            hubs = self._import_index.star_importers(module_names(pending.pop())) - providers
            providers |= hubs
            pending += hubs
        importers = (self._import_index.importers(module_names(item)) for item in providers)
        return providers.union(self.files_with(names[-1]), *importers)

    @property
    def _import_index(self) -> ImportIndex:
        if self._imports is None:
            self._imports = ImportIndex(
                (path, entry.imports) for path, entry in self._entries.items()
            )
        return self._imports

    def refresh(self, say: Callable[[int], None] = lambda count: None) -> frozenset[str]:
        """Read the files that have changed; the paths of these, and of those that are gone.

        `say` is called with the number of files after each hundred that is read.
        """
        with self._lock:
            if not self._is_loaded:
                self._is_loaded = True
                self._entries = self._read_store()
            entries: dict[str, _Entry] = {}
            changed: list[str] = []
            for number, (path, stamp) in enumerate(_python_files(self.root)):
                if number >= _MAX_FILES:
                    break
                old = self._entries.get(path)
                if old is not None and old.stamp == stamp:
                    entries[path] = old
                    continue
                entries[path] = _entry(self.root / path, stamp)
                changed.append(path)
                if len(changed) % 100 == 0:
                    say(number + 1)
            gone = self._entries.keys() - entries.keys()
            self._entries = entries
            if changed or gone:
                self._found, self._imports = {}, None
                self._write(changed, gone)
            return frozenset((*changed, *gone))

    def _read_store(self) -> dict[str, _Entry]:
        found: dict[str, _Entry] = {}
        if self._store is not None and self._store.exists():
            with contextlib.suppress(sqlite3.Error), contextlib.closing(self._connect()) as data:
                rows = data.execute("SELECT path, stamp, words, imports FROM indexed")
                for path, stamp, blob, imports in rows:
                    words = array.array("I")
                    words.frombytes(blob)
                    found[path] = _Entry(stamp, words, tuple(imports.split()))
        return found

    def _write(self, changed: list[str], gone: set[str]) -> None:
        """Store the entries; what cannot be stored is read again in the next run."""
        if self._store is None:
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self._store.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(self._connect()) as data, data:
                data.executemany("DELETE FROM indexed WHERE path = ?", [(path,) for path in gone])
                rows = ((path, self._entries[path]) for path in changed)
                data.executemany(
                    "INSERT OR REPLACE INTO indexed VALUES (?, ?, ?, ?)",
                    [
                        (path, entry.stamp, entry.words.tobytes(), " ".join(entry.imports))
                        for path, entry in rows
                    ],
                )

    def _connect(self) -> sqlite3.Connection:
        assert self._store is not None
        data = sqlite3.connect(self._store, timeout=1.0)
        data.execute(_SCHEMA)
        return data


def _python_files(root: Path) -> Iterator[tuple[str, str]]:
    """The files with the time of their last change and their size."""
    pending = [root]
    while pending:
        try:
            entries = sorted(os.scandir(pending.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        for entry in entries:
            if not _is_utf8(entry.name):
                # Nothing can import it, and no message can name it.
                continue
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith("."):
                        pending.append(Path(entry.path))
                elif entry.name.endswith(".py") and entry.is_file():
                    status = entry.stat()
                    if status.st_size <= _MAX_FILE_BYTES:
                        path = Path(entry.path).relative_to(root).as_posix()
                        yield path, _stamp_of(status)


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _stamp_of(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns} {status.st_size}"


def _entry(path: Path, stamp: str) -> _Entry:
    try:
        content = read_bytes(path, _MAX_FILE_BYTES, limit_s=None)
    except OSError:
        content = b""
    words = array.array("I", sorted(set(map(_digest, set(_WORD.findall(content))))))
    return _Entry(stamp, words, imports_of(content))


def _digest(word: bytes) -> int:
    return zlib.crc32(word)
