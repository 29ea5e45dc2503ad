"""The user's own files that an analysis depends on: to be read again when one of them changes.

They are the modules that it has imported, those whose code has raised an error, and the places at
which a module that was not found would have been: an analysis of a text whose helper is missing
depends on the file that is not there.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, Iterable, List, Optional, Sequence, Set

from .document import Document
from .imported import is_installed as is_installed_at


class Origins:
    """Watches what is imported in a `with` block.

    `folders` are those of the search path in which the user keeps modules.
    """

    def __init__(self, document: Document, folders: Iterable[str]) -> None:
        self._document = document
        self._folders = tuple(folders)
        self._known = frozenset(sys.modules)
        self._missed: Set[str] = set()

    def __enter__(self) -> Origins:
        # The last of the finders is asked for what no other has found.
        sys.meta_path.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> None:
        """Remember where the user's module `name` would have been; as a finder, find nothing."""
        last = name.rpartition(".")[2]
        for folder in self._folders if path is None else path:
            if path is None or not is_installed_at(folder):
                path_stem = os.path.join(folder, last)
                self._missed.update((path_stem + ".py", os.path.join(path_stem, "__init__.py")))

    def files(self) -> List[str]:
        """The paths so far, those of missing modules included; the document is none of them."""
        modules = (sys.modules[name] for name in set(sys.modules) - self._known)
        imported = {file_of(module) for module in modules if not is_installed(module)}
        raised = {
            path
            for path in self._document.raised_in
            if os.path.isfile(path) and not is_installed_at(path)
        }
        return sorted((imported | raised | self._missed) - {self._document.path})


def is_installed(module: Any) -> bool:
    """Whether a module is a package's or the language's, or has no file."""
    path = file_of(module)
    return not path or is_installed_at(path)


def file_of(module: Any) -> str:
    """The file of a module, or nothing."""
    # Not by `getattr`: modules that load themselves when they are touched must not do so here.
    found = getattr(module, "__dict__", {}).get("__file__")
    return found if isinstance(found, str) else ""
