"""What surrounds a file: settings, interpreter, calls in other files. None of it is above the
allowed folder.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tirlens.captured.candidates import CapturedCalls
from tirlens.repository import SearchClient, merge_calls, root_of, with_calls
from tirlens.settings import Settings
from tirlens.source.source_file import SourceFile
from tirlens.tools.folders import Place
from tirlens.worker_client import Interpreter, find_interpreter

# A search reads what has changed in a repository; until then the calls of the last one hold.
_SEARCH_AGAIN_S = 10.0
_NICENESS = 15
_MOST_FILES = 200


@dataclass(frozen=True)
class Environment:
    """The interpreter that executes a file, and the settings of its project."""

    interpreter: Interpreter
    project: Settings


def find_environment(place: Place, source: SourceFile, python: str | None) -> Environment:
    """The environment of a file; reads settings, and starts interpreters to ask their versions.

    `python` is the interpreter that the user has chosen for all files.
    """
    project, _ = Settings.from_pyproject(place.path.parent, place.folder)
    interpreter = find_interpreter(
        place.path,
        setting=python or project.python,
        framework_hint=source.framework_hint,
        within=place.folder,
    )
    return Environment(replace(interpreter, variables=project.environment), project)


class OtherFiles:
    """The calls of kernels in other files of the allowed folder: captured, and of the repository.

    Both are read and not executed.
    """

    def __init__(self) -> None:
        self._captured = CapturedCalls()
        self._client = SearchClient(_NICENESS)
        self._found: dict[Path, tuple[float, SourceFile]] = {}

    async def with_calls(self, place: Place, source: SourceFile) -> SourceFile:
        """`source`, the kernels of a file, with the calls of other files."""
        root = await asyncio.to_thread(_root, place)
        if root is None or not source.kernels:
            return source
        source = await asyncio.to_thread(self._captured.with_calls, source, place.path, root)
        searched_s, found = self._found.get(place.path, (0.0, None))
        names = {kernel.name for kernel in source.kernels}
        is_known = found is not None and names <= {kernel.name for kernel in found.kernels}
        if found is None or not is_known or time.monotonic() - searched_s > _SEARCH_AGAIN_S:
            found = await asyncio.to_thread(
                with_calls,
                source,
                place.path,
                root,
                lambda targets: self._client.search(root, targets),
            )
            while len(self._found) >= _MOST_FILES:
                del self._found[next(iter(self._found))]
            self._found[place.path] = time.monotonic(), found
        return merge_calls(source, found)

    def close(self) -> None:
        """End the process that searches."""
        self._client.close()


def _root(place: Place) -> Path | None:
    """The folder whose files may call the kernels: the repository, or the part that is allowed."""
    root = root_of(place.path)
    return root if root is None or root.is_relative_to(place.folder) else place.folder
