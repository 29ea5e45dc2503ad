"""The client of the process that searches for calls: started when needed, and again after its end.

No search can take the memory of this process, stop it or end it: one that fails finds no calls,
and the reason is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from tirlens.environment_variables import allowed_variables
from tirlens.evaluation.search_result import Search, Target
from tirlens.repository.search_messages import (
    SearchAnswer,
    SearchProgress,
    SearchRequest,
    read,
    write,
)
from tirlens_worker import codec

_MAIN = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(1))
from tirlens.repository.search_process import main
main()
"""
# Without a sign that it goes on: it then waits for a file system, or hangs.
SILENCE_LIMIT_S = 60.0
_END_LIMIT_S = 1.0
# What makes a search fail may have been the state of the machine.
_ATTEMPTS = 2
_START = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class SearchFailedError(Exception):
    """There is no answer; the text says why."""


class _EndedError(Exception):
    """The process had ended by itself before it read the request."""


class SearchClient:
    """Searches the calls of functions in a process of its own; may be used by several threads.

    Parameters
    ----------
    niceness
        How much lower the priority of the process is than that of this one.
    silence_limit_s
        The time after which a process that says nothing is ended.

    Attributes
    ----------
    problems
        Why the last search of a repository has failed, by its folder.
    """

    def __init__(self, niceness: int = 0, silence_limit_s: float = SILENCE_LIMIT_S) -> None:
        self.problems: dict[Path, str] = {}
        self._niceness = niceness
        self._silence_limit_s = silence_limit_s
        self._process: _Process | None = None
        self._failures: Counter[tuple[Path, tuple[Target, ...]]] = Counter()
        self._lock = threading.Lock()
        self._is_closed = False

    def search(
        self,
        root: Path,
        targets: Sequence[Target],
        say: Callable[[int], None] = lambda count: None,
        store: Path | None = None,
    ) -> Mapping[Target, Search]:
        """The calls of some functions of one file; none of those whose search fails.

        Parameters
        ----------
        root
            The folder of the repository.
        targets
            The functions.
        say
            Called with the number of files that were read for the index, now and then.
        store
            The file that stores the index of words; None for one in the user's cache folder.
        """
        request = SearchRequest(str(root), str(store or _store_of(root)), tuple(targets))
        answer = self._answer(root, request, say)
        return {} if answer is None else {item.target: item.search for item in answer.found}

    def depends_on(
        self, root: Path, targets: Sequence[Target], files: Iterable[str], store: Path | None = None
    ) -> bool:
        """Whether the calls of some functions may be others if `files` are.

        The files are named by their paths relative to the root. Where no search succeeds, they may.
        """
        if not targets:
            return False
        where = str(store or _store_of(root))
        request = SearchRequest(str(root), where, tuple(targets), tuple(sorted(files)))
        answer = self._answer(root, request, lambda count: None)
        return answer is None or answer.is_concerned

    def _answer(
        self, root: Path, request: SearchRequest, say: Callable[[int], None]
    ) -> SearchAnswer | None:
        """The answer to a request; None if the search fails, or has failed before."""
        key = root, request.targets
        with self._lock:
            if self._is_closed or self._failures[key] >= _ATTEMPTS:
                return None
            try:
                answer = self._ask(request, say)
            except SearchFailedError as error:
                self._failures[key] += 1
                names = ", ".join(target.name for target in request.targets[:3])
                self.problems[root] = (
                    f"{root}: calls of {names} in other files are not known, "
                    f"because the search has failed: {error}"
                )
                return None
            self.problems.pop(root, None)
            return answer

    def start(self) -> None:
        """Start the process, so that the first search finds it ready."""
        with self._lock, contextlib.suppress(SearchFailedError):
            self._running_process()

    def close(self) -> None:
        """End the process; a search that is running finds nothing."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()

    def _ask(self, request: SearchRequest, say: Callable[[int], None]) -> SearchAnswer:
        """The answer of the process, or of another one if it had ended before.

        Raises:
            SearchFailedError: there is none.
        """
        for _ in range(_ATTEMPTS):
            process = self._running_process()
            try:
                answer = process.ask(request, say, self._silence_limit_s)
            except _EndedError:
                self._process = None
                continue
            except SearchFailedError:
                self._process = None
                raise
            if answer.problem:
                raise SearchFailedError(answer.problem)
            return answer
        raise SearchFailedError("its process ends at once")

    def _running_process(self) -> _Process:
        if self._process is None or self._process.has_ended:
            try:
                self._process = _Process(self._niceness)
            except OSError as error:
                raise SearchFailedError(f"its process cannot be started: {error}") from error
        return self._process


class _Process:
    """A process that searches, and the thread that reads its answers."""

    def __init__(self, niceness: int) -> None:
        path = [os.path.abspath(item) for item in sys.path]  # noqa: PTH100
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _MAIN, json.dumps(path), str(niceness)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=allowed_variables(os.environ),
            cwd=Path(sys.executable).anchor or None,
            start_new_session=True,
            creationflags=_START,
        )
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="search", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def ask(
        self, request: SearchRequest, say: Callable[[int], None], limit_s: float
    ) -> SearchAnswer:
        """The answer to `request`.

        Raises:
            SearchFailedError: there is none.
            _EndedError: the process had ended before.
        """
        with contextlib.suppress(OSError):
            write(cast("Any", self._process.stdin), codec.dumps(request))
        while True:
            try:
                payload = self._messages.get(timeout=limit_s)
            except queue.Empty:
                self.kill()
                raise SearchFailedError(f"it did not go on for {limit_s:g} s") from None
            if payload is None:
                raise self._end()
            message: dict[str, Any] = json.loads(payload)
            if message["$"] == "SearchAnswer":
                return codec.from_json(SearchAnswer, message)
            progress = codec.from_json(SearchProgress, message)
            if progress.files_read:
                say(progress.files_read)

    def kill(self) -> None:
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_LIMIT_S)

    def _end(self) -> Exception:
        """Why the process has ended."""
        try:
            status = self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return SearchFailedError("it has closed its pipe")
        if status == 0:
            return _EndedError()
        if status == -getattr(signal, "SIGXCPU", 0):
            return SearchFailedError("one step took too much time")
        what = f"signal {-status}" if status < 0 else f"exit status {status}"
        return SearchFailedError(f"its process has ended with {what}")

    def _read(self) -> None:
        stream: IO[bytes] = cast("IO[bytes]", self._process.stdout)
        with contextlib.suppress(OSError, ValueError):
            while (payload := read(cast("Any", stream))) is not None:
                self._messages.put(payload)
        self._messages.put(None)


def _store_of(root: Path) -> Path:
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    # Imported late: the Python API works where only a framework is installed.
    from platformdirs import user_cache_path

    return user_cache_path("tirlens") / "repositories" / f"{name}.sqlite"
