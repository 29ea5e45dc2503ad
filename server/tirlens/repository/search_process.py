"""The process that searches for calls: what a repository holds can end it, and nothing else.

It executes nothing of the repository. Its memory and the processor time of each step are limited by
the kernel (Linux). macOS has a measurement of memory in its place, Windows only limits of the
values of an evaluation. `search_client` starts it, and limits its time.
"""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from tirlens import own_process
from tirlens.collector import scan_new_objects_only
from tirlens.file_reader import read_text
from tirlens.repository.repository import Repository
from tirlens.repository.search_messages import (
    Found,
    SearchAnswer,
    SearchProgress,
    SearchRequest,
    read,
    write,
)
from tirlens_worker import codec

MEMORY_BYTES = 1 << 30
"""What a search may allocate."""
STEP_CPU_S = 10
"""The processor time that one step of a search may take."""
_BEATS_OF_A_LOOK = 256
_PROGRESS_S = 1.0
_MAX_REPOSITORIES = 8


class SearchServer:
    """Answers requests until the pipe is closed.

    Parameters
    ----------
    requests, answers
        The pipes from and to the process that asks.
    """

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._requests = requests
        self._answers = answers
        self._known: dict[str, Repository] = {}
        self._beats = 0
        self._said_s = 0.0

    def serve(self) -> None:
        """Answer one request after another; returns after one that took much memory, too."""
        while (payload := read(self._requests)) is not None:
            request = codec.loads(SearchRequest, payload)
            _limit_cpu()
            try:
                answer = self._search(request)
            except MemoryError:
                answer = SearchAnswer(problem="it took too much memory")
                self._known.clear()
            except Exception as error:
                answer = SearchAnswer(problem=f"{type(error).__name__}: {error}"[:200])
            self._send(answer)
            if _peak_bytes() > MEMORY_BYTES // 2:
                # Memory that was freed is rarely given back to the system.
                return

    def _search(self, request: SearchRequest) -> SearchAnswer:
        repository = self._known.pop(request.root, None)
        if repository is None:
            repository = Repository(Path(request.root), Path(request.store), self._beat)
        self._known[request.root] = repository
        if len(self._known) > _MAX_REPOSITORIES:
            del self._known[next(iter(self._known))]
        repository.refresh(self._note_files)
        found = repository.search(request.targets)
        return SearchAnswer(
            tuple(
                Found(target, replace(search, files=frozenset(), data_files={}))
                for target, search in found.items()
            ),
            is_concerned=repository.depends_on(request.targets, frozenset(request.changed)),
        )

    def _note_files(self, count: int) -> None:
        _limit_cpu()
        self._send(SearchProgress(count))

    def _beat(self) -> None:
        self._beats += 1
        if self._beats % _BEATS_OF_A_LOOK:
            return
        _limit_cpu()
        if sys.platform != "linux" and _peak_bytes() > MEMORY_BYTES:
            raise MemoryError
        now_s = time.monotonic()
        if now_s - self._said_s > _PROGRESS_S:
            self._said_s = now_s
            # It fails where the process that asks has ended, which ends this one.
            self._send(SearchProgress())

    def _send(self, message: SearchAnswer | SearchProgress) -> None:
        try:
            write(self._answers, codec.dumps(message))
        except OSError:
            os._exit(0)


def main() -> None:
    """Answer the requests of standard input on standard output."""
    niceness = int(sys.argv[1])
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What prints cannot disturb the messages.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    if hasattr(os, "nice"):
        os.nice(niceness)
    own_process.hide()
    _limit_memory()
    # Trees of modules have no cycles; a search collects its own.
    scan_new_objects_only()
    SearchServer(requests, answers).serve()


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    import resource

    pages = int(read_text(Path("/proc/self/statm"), limit_s=None).split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def _limit_cpu() -> None:
    """Have the kernel end this process after `STEP_CPU_S` more."""
    if sys.platform == "win32":
        return
    import resource

    most = int(time.process_time()) + 1 + STEP_CPU_S
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or most <= hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _peak_bytes() -> int:
    """The most memory that this process has had; 0 where that is not known."""
    if sys.platform == "win32":
        return 0
    if sys.platform == "linux":
        # `ru_maxrss` begins with the memory of the process that started this one.
        status = read_text(Path("/proc/self/status"), errors="replace", limit_s=None)
        found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
        return int(found.group(1)) * 1024 if found else 0
    import resource

    # In kilobytes, but for macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
