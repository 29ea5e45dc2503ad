"""The index of imports: which files of a repository import a module, from their text alone.

A name of an import is matched with the names of the module's file and of its packages. It may
match more files than Python would import, never fewer: the folder in which absolute names start is
not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*[ \t]*[\w.]*)[ \t]+import[ \t(]+(\*)?|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class _Import:
    """An import by the file `path`. Only a relative name `is_whole`: it starts at the root."""

    path: str
    names: tuple[str, ...]
    is_whole: bool
    is_star: bool


def imports_of(content: bytes) -> tuple[str, ...]:
    """The modules that a text imports, as written; ``package.module*`` for all of its names."""
    found: dict[str, None] = {}
    for module, star, several in _IMPORT.findall(content):
        if module:
            found[_text(module) + _text(star)] = None
        for item in several.split(b",") if several else ():
            found[_text(item.split(b" as ")[0].strip())] = None
    return tuple(found)


class ImportIndex:
    """The imports of some files.

    Parameters
    ----------
    imports
        The files, relative to the root, with what `imports_of` their texts returns.
    """

    def __init__(self, imports: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self._by_last_name: dict[str, list[_Import]] = {}
        for path, modules in imports:
            for item in map(lambda module, path=path: _import(path, module), modules):
                if item is not None:
                    self._by_last_name.setdefault(item.names[-1], []).append(item)

    def importers(self, names: tuple[str, ...]) -> set[str]:
        """The files that import the module or package of these names."""
        return {item.path for item in self._matches(names)}

    def star_importers(self, names: tuple[str, ...]) -> set[str]:
        """The files that import all names of the module of these names."""
        return {item.path for item in self._matches(names) if item.is_star}

    def _matches(self, names: tuple[str, ...]) -> Iterator[_Import]:
        for item in self._by_last_name.get(names[-1], ()):
            if item.names == (names if item.is_whole else names[-len(item.names) :]):
                yield item


def _import(path: str, module: str) -> _Import | None:
    plain = module.rstrip("*")
    name = plain.lstrip(".")
    level = len(plain) - len(name)
    names = tuple(part.strip() for part in name.split(".")) if name.strip() else ()
    if level:
        folders = tuple(path.split("/")[:-1])
        names = (*folders[: len(folders) - level + 1], *names)
    return _Import(path, names, bool(level), module.endswith("*")) if names else None


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
