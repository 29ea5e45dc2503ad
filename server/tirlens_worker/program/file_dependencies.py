"""The user's files that an analysis depends on.

They are the imported modules, the modules whose code raised an error, and the paths at which a
missing module would be found: the creation of such a file changes the analysis.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, Iterable, List, Optional, Sequence, Set

from .document import Document
from .user_imports import is_installed as is_installed_at


class Origins:
    """Records the modules that are imported in a `with` block.

    `folders` are the folders of the search path with the user's modules.
    """

    def __init__(self, document: Document, folders: Iterable[str]) -> None:
        self._document = document
        self._folders = tuple(folders)
        self._known = frozenset(sys.modules)
        self._missed: Set[str] = set()

    def __enter__(self) -> Origins:
        # The last finder is called for modules that no other has found.
        sys.meta_path.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def replace_document(self, document: Document) -> None:
        """Go on with another version of the document."""
        document.raised_in |= self._document.raised_in
        self._document = document

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> None:
        """Record the paths at which the missing module `name` would be found; finds nothing."""
        last = name.rpartition(".")[2]
        for folder in self._folders if path is None else path:
            if path is None or not is_installed_at(folder):
                path_stem = os.path.join(folder, last)
                self._missed.update((path_stem + ".py", os.path.join(path_stem, "__init__.py")))

    def files(self) -> List[str]:
        """The paths so far, including those of missing modules, without the document."""
        modules = (sys.modules[name] for name in set(sys.modules) - self._known)
        imported = {file_of(module) for module in modules if not is_installed(module)}
        raised = {
            path
            for path in self._document.raised_in
            if os.path.isfile(path) and not is_installed_at(path)
        }
        return sorted((imported | raised | self._missed) - {self._document.path})


def is_installed(module: Any) -> bool:
    """Whether a module is in an installed package or the standard library, or has no file."""
    path = file_of(module)
    return not path or is_installed_at(path)


def file_of(module: Any) -> str:
    """The file of a module; empty without one."""
    # `getattr` would load lazy modules.
    found = getattr(module, "__dict__", {}).get("__file__")
    return found if isinstance(found, str) else ""
