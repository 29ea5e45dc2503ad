"""The calls of the kernels of open documents outside of them, found by another process."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.captured.candidates import CapturedCalls
    from tirlens.repository import SearchClient
    from tirlens.source import SourceFile

# Lower than the priority of the workers, whose figures do not wait for a search.
_NICENESS = 15


class Repositories:
    """Searches the calls of kernels in the other files of their repositories.

    A search takes up to seconds in a process of low priority, reads files only, and executes
    nothing of them. Captured calls are read at once.
    """

    def __init__(self) -> None:
        self._found: dict[Path, SourceFile] = {}
        self._running: dict[Path, asyncio.Task[SourceFile | None]] = {}

    def with_captured_calls(self, path: Path, source: SourceFile) -> SourceFile:
        """`source`, the kernels of the file `path`, with their captured calls; reads files."""
        return self._captured.with_calls(source, path)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems of the files of captured calls, and of searches."""
        return (*self._captured.problems.values(), *self._client.problems.values())

    def close(self) -> None:
        """End the process that searches."""
        self._client.close()

    @cached_property
    def _captured(self) -> CapturedCalls:
        # Imported late: the first answers do not wait for it.
        from tirlens.captured.candidates import CapturedCalls

        return CapturedCalls()

    @cached_property
    def _client(self) -> SearchClient:
        from tirlens.repository import SearchClient

        return SearchClient(_NICENESS)

    def with_known_calls(self, path: Path, source: SourceFile) -> SourceFile:
        """`source`, the kernels of the file `path`, with the calls that are known of them."""
        found = self._found.get(path)
        if found is None:
            return source
        from tirlens.repository import merge_calls

        return merge_calls(source, found)

    def awaited_kernels(self, path: Path, source: SourceFile) -> frozenset[str]:
        """The names of the kernels whose calls have not been searched yet; looks for folders."""
        from tirlens.repository import root_of, searched_kernels

        found = self._found.get(path)
        names = searched_kernels(source)
        if found is not None:
            names -= {kernel.name for kernel in found.kernels}
        return names if names and root_of(path) is not None else frozenset()

    async def search(self, path: Path, source: SourceFile) -> bool:
        """Search the calls of the kernels in `source`; whether it does not have those."""
        if not source.kernels:
            return False
        while (running := self._running.get(path)) is not None:
            # Of an earlier text. What it finds need not be searched again.
            await asyncio.wait([running])
        task = asyncio.ensure_future(asyncio.to_thread(self._search, path, source))
        self._running[path] = task
        try:
            after = await task
        finally:
            del self._running[path]
        if after is None:
            return False
        self._found[path] = after
        return after.kernels != source.kernels

    def _search(self, path: Path, source: SourceFile) -> SourceFile | None:
        from tirlens.repository import root_of, with_calls

        root = root_of(path)
        if root is None:
            return None
        return with_calls(source, path, root, lambda targets: self._client.search(root, targets))
