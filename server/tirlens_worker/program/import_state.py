"""What a process has executed of a document, and of which other versions of it that is the same."""

from __future__ import annotations

import ast
import os
from typing import Dict, Iterable, List, Optional, Tuple

from ..protocol import Analyze
from .document import Document, package_of, relative_levels
from .load import Loaded, printed_imports

# Time stamps of file systems may be coarse: a file of this age may have changed since it was read.
_CLOCK_TICK_NS = 20_000_000
# Modification time in nanoseconds and bytes; None for a file that is missing.
_Version = Optional[Tuple[int, int]]


class ImportState:
    """The leading statements that a process has executed, and the `files` that they depend on."""

    def __init__(self, request: Analyze, loaded: Loaded, files: Iterable[str]) -> None:
        self._request = request
        self._module_name = _module_name(loaded.document)
        self._text = _leading_text(loaded.document, loaded.executed)
        self._executed = loaded.executed
        self._has_printed_imports = bool(printed_imports(loaded.document))
        self._versions: Dict[str, _Version] = {path: _version(path) for path in files}

    def is_newer_than(self, time_ns: int) -> bool:
        """Whether one of the files has changed since `time_ns` (as `time.time_ns`)."""
        limit_ns = time_ns - _CLOCK_TICK_NS
        return any(version and version[0] >= limit_ns for version in self._versions.values())

    def document_of(self, request: Analyze) -> Optional[Document]:
        """The document of `request`, if its execution can go on from this state."""
        ours = self._request
        if (request.path, request.sys_path, request.target) != (
            ours.path,
            ours.sys_path,
            ours.target,
        ):
            return None
        try:
            document = Document(request.path, request.text, request.leave_out)
        except (SyntaxError, ValueError):
            return None
        is_same = (
            _leading_text(document, self._executed) == self._text
            and _module_name(document) == self._module_name
            and not (self._has_printed_imports or printed_imports(document))
            and all(_version(path) == version for path, version in self._versions.items())
        )
        return document if is_same else None


def _leading_text(document: Document, count: int) -> Tuple[str, List[str]]:
    """The lines to the end of the first `count` statements, and these statements."""
    body = document.tree.body[:count]
    end = body[-1].end_lineno if len(body) == count and body else 0
    statements = [ast.dump(statement, include_attributes=True) for statement in body]
    return "".join(document.lines[:end]), statements


def _module_name(document: Document) -> str:
    return package_of(document.path, relative_levels(document.tree))[0]


def _version(path: str) -> _Version:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
