"""Files of a repository that its code reads: paths, texts, and JSON, TOML and YAML in them."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import copy
import fnmatch
import functools
import json
import posixpath
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tirlens.evaluation.values import UNKNOWN, Value, size_of
from tirlens.file_reader import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MAX_BYTES = 1 << 20
_MAX_ENTRIES = 512
_MAX_CHARACTERS = 256
# YAML's aliases repeat what they name: a file of some lines may have billions of values.
_MAX_VALUES = 100_000
_TAKE_PATHS = ("builtins.open", "pathlib.Path", "builtins.str")
_PARSERS = {
    "json.load": "json", "json.loads": "json", "tomllib.load": "toml", "tomllib.loads": "toml",
    "tomli.load": "toml", "tomli.loads": "toml", "toml.load": "toml", "toml.loads": "toml",
    "yaml.safe_load": "yaml", "yaml.load": "yaml", "yaml.full_load": "yaml",
}  # fmt: skip
_SAME_PATH = ("abspath", "realpath", "normpath", "expanduser", "fspath")
# Methods of `pathlib.Path` that give the same place.
_SAME = ("resolve", "absolute", "expanduser", "as_posix")


@dataclass(frozen=True)
class FilePath:
    """A path below the root of the repository, relative to it, with ``/``."""

    path: str


@dataclass(frozen=True)
class FileText:
    """The content of a file: an open file, or the text that was read of it."""

    path: str


class DataFiles:
    """Reads files below `root`, and remembers which; none where that is None.

    Attributes
    ----------
    read
        The time of the last change of each file that was read, by path.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self.read: dict[str, int] = {}

    def path_of(self, value: Value, folder: str) -> FilePath | None:
        """The path that a value names, relative to `folder` or the root."""
        if isinstance(value, (FilePath, FileText)):
            return FilePath(value.path)
        if not isinstance(value, str) or value.startswith("/") or len(value) > _MAX_CHARACTERS:
            return None
        near = posixpath.normpath(posixpath.join(folder, value))
        return FilePath(near if not near.startswith("..") and self.exists(near) else value)

    def entries(self, path: str, pattern: str = "*") -> list[Value]:
        """The paths in a folder whose names fit `pattern`, in order of their names.

        There are none in a file, and in a folder that cannot be read.
        """
        if self._root is None:
            return []
        try:
            names = sorted(item.name for item in (self._root / path).iterdir())[:_MAX_ENTRIES]
        except (OSError, ValueError):
            return []
        return [
            FilePath(posixpath.join(path, name))
            for name in names
            if fnmatch.fnmatchcase(name, pattern)
        ]

    def exists(self, path: str, kind: str = "exists") -> bool:
        """Whether there is a file or folder; `kind` is the name of the method of `Path`."""
        if self._root is None:
            return False
        try:
            return bool(getattr(self._root / path, kind)())
        except (OSError, ValueError):
            return False

    def parse(self, content: Value, kind: str) -> Value:
        """The data in a text or a file; `UNKNOWN` if it cannot be read."""
        try:
            if isinstance(content, FileText):
                if self._root is None:
                    return UNKNOWN
                place = self._root / content.path
                stamp = place.stat().st_mtime_ns
                self.read[content.path] = stamp
                return copy.deepcopy(_read_and_parse(place, stamp, kind))
            return _parse(content, kind) if isinstance(content, str) else UNKNOWN
        except Exception:
            return UNKNOWN


def method(files: DataFiles, owner: FilePath | FileText, name: str, given: list[Value]) -> Value:
    """The value of a call of a method of a path or an open file."""
    path = owner.path
    if isinstance(owner, FileText):
        return owner if name in ("read", "__enter__") else UNKNOWN
    if name in _SAME:
        return owner
    if name in ("read_text", "read_bytes", "open"):
        return FileText(path)
    if name in ("exists", "is_file", "is_dir"):
        return files.exists(path, name)
    if name == "iterdir":
        return files.entries(path)
    if name == "glob" and given and isinstance(given[0], str):
        return files.entries(path, given[0])
    if name in ("joinpath", "with_suffix", "with_name"):
        return _join(path, name, given)
    return UNKNOWN


def _join(path: str, name: str, given: list[Value]) -> Value:
    parts = [item.path if isinstance(item, FilePath) else item for item in given]
    if not all(isinstance(part, str) for part in parts):
        return UNKNOWN
    if name == "joinpath":
        return FilePath(posixpath.normpath(posixpath.join(path, *parts)))
    if name == "with_name":
        return FilePath(posixpath.join(posixpath.dirname(path), parts[0]))
    return FilePath(posixpath.splitext(path)[0] + parts[0])


def attribute(base: FilePath, name: str) -> Value:
    """An attribute of a path; `UNKNOWN` for a method."""
    last = posixpath.basename(base.path)
    stem, suffix = posixpath.splitext(last)
    if name == "parents":
        folders: list[Value] = []
        path = base.path
        while path and len(folders) < 16:
            path = posixpath.dirname(path)
            folders.append(FilePath(path))
        return folders
    values = {"parent": FilePath(posixpath.dirname(base.path)), "name": last, "stem": stem}
    return values.get(name, suffix if name == "suffix" else UNKNOWN)


def call(files: DataFiles, path: str, given: list[Value], folder: str) -> Value | None:
    """The value of a call of the library's function `path`; None if it reads no files.

    `folder` is that of the calling module.
    """
    kind = _PARSERS.get(path)
    if kind is not None:
        return files.parse(given[0], kind) if given else UNKNOWN
    if path == "importlib.resources.files" and given and isinstance(given[0], str):
        return _package(files, given[0])
    if not given or not (path in _TAKE_PATHS or path.startswith("os.")):
        return None
    first = files.path_of(given[0], folder)
    if first is None:
        return None
    if path == "builtins.open":
        return FileText(first.path)
    if path in ("pathlib.Path", "builtins.str") and (
        path == "pathlib.Path" or isinstance(given[0], FilePath)
    ):
        return first if len(given) == 1 else _join(first.path, "joinpath", given[1:])
    if not path.startswith("os.") or not isinstance(given[0], FilePath):
        return None
    name = path.rpartition(".")[2]
    if name == "dirname":
        return FilePath(posixpath.dirname(first.path))
    if name == "join":
        return _join(first.path, "joinpath", given[1:])
    if name == "listdir":
        return [attribute(item, "name") for item in files.entries(first.path)]
    return first if name in _SAME_PATH else None


def _package(files: DataFiles, name: str) -> Value:
    """The folder of a package: at the root, or in a folder such as ``src``."""
    path = name.replace(".", "/")
    candidates = [path, f"src/{path}", f"python/{path}"]
    return next((FilePath(item) for item in candidates if files.exists(item, "is_dir")), UNKNOWN)


@functools.lru_cache(maxsize=128)
def _read_and_parse(place: Path, stamp: int, kind: str) -> Any:
    return _parse(read_text(place, _MAX_BYTES, limit_s=None), kind)


def _parse(text: str, kind: str) -> Any:
    parsers: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads}
    value = parsers.get(kind, _parse_yaml)(text)
    return value if size_of(value, _MAX_VALUES) <= _MAX_VALUES else UNKNOWN


def _parse_yaml(text: str) -> Any:
    import yaml

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
