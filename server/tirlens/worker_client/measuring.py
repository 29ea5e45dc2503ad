"""A worker that compiles and times kernels on the machine's own device."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tirlens.worker_client.process import SCRIPT, exit_description, frame, kill_group
from tirlens_worker import codec
from tirlens_worker.protocol import (
    MOST_RESULT_BYTES,
    Answered,
    KernelRequest,
    Measure,
    Measured,
    NeedsArguments,
    Problem,
)

Answer = Measured | NeedsArguments | Problem
_MESSAGES: dict[str, type[Answer | Answered]] = {
    "Answered": Answered,
    "Measured": Measured,
    "NeedsArguments": NeedsArguments,
    "Problem": Problem,
}
_HEADER = re.compile(rb"Content-Length: (\d{1,9})\r\n\r\n")
# Longer than a header.
_MOST_BETWEEN_BYTES = 64
_MAX_LOG_CHARACTERS = 4000
_LISTENER_LIMIT_S = 1.0


class Measurer:
    """Measures the kernels of one text, one after another, in a process that it starts on demand.

    After a kernel that crashes, or that takes longer than `time_limit_s`, the next kernel has a new
    process.  `under` is the command of a profiler, to which the worker's command is appended.  The
    process ends with the ``with`` statement in which this is used.
    """

    def __init__(
        self, python: Path, request: Measure, time_limit_s: float, under: Sequence[str] = ()
    ) -> None:
        self._python = python
        self._request = request
        self._time_limit_s = time_limit_s
        self._under = under
        self._process: _Process | None = None

    def __enter__(self) -> Measurer:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end(self._time_limit_s if exception[0] is None else 0)

    def measure(self, kernel: KernelRequest) -> list[Answer]:
        """All answers for one kernel; the last is a `Problem` if the process crashed."""
        if self._process is None:
            try:
                self._process = _Process(self._python, self._under)
            except OSError as error:
                message = f"{self._python} cannot be started: {error}"
                return [Problem("interpreter", message, kernel=kernel.name)]
            self._process.send(codec.dumps(self._request))
        self._process.send(codec.dumps(kernel))
        answers: list[Answer] = []
        ends = time.monotonic() + self._time_limit_s
        while True:
            try:
                answer = self._process.next(ends - time.monotonic())
            except TimeoutError:
                self._end(0)
                message = f"the measurement was stopped after {self._time_limit_s:g} s"
                return [*answers, Problem("timeout", message, kernel=kernel.name)]
            if answer is None:
                how, log = self._end(self._time_limit_s)
                last = log.strip().rpartition("\n")[2]
                message = f"the measurement ended with {how}: {last}"
                return [*answers, Problem("crash", message, kernel=kernel.name, detail=log)]
            if isinstance(answer, Answered):
                if answer.is_last:
                    self._end(self._time_limit_s)
                return answers
            answers.append(answer)

    def _end(self, wait_s: float) -> tuple[str, str]:
        process, self._process = self._process, None
        return process.end(wait_s) if process is not None else ("", "")


class _Process:
    """A worker and its pipes.

    Raises:
        OSError: the interpreter cannot be started.
    """

    def __init__(self, python: Path, under: Sequence[str]) -> None:
        # All GPUs are visible, and TVM has all cores.
        environment = {
            "TVM_NUM_THREADS": str(os.cpu_count() or 1),
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        try:
            self._process = subprocess.Popen(
                [*under, str(python), str(SCRIPT), "measure"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                start_new_session=True,
            )
        except OSError:
            self._log.close()
            raise
        self._answers: queue.SimpleQueue[Answer | Answered | None] = queue.SimpleQueue()
        assert self._process.stdout is not None
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._listener.start()

    def _listen(self, pipe: IO[bytes]) -> None:
        for message in _messages(pipe):
            self._answers.put(message)
        self._answers.put(None)

    def send(self, payload: bytes) -> None:
        """Send a message to the worker; it is dropped if the worker has ended."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(frame(payload))
            self._process.stdin.flush()

    def next(self, wait_s: float) -> Answer | Answered | None:
        """The next message of the worker; None at the end of its pipe.

        Raises:
            TimeoutError: there is no message for `wait_s`.
        """
        try:
            return self._answers.get(timeout=max(wait_s, 0))
        except queue.Empty as error:
            raise TimeoutError from error

    def end(self, wait_s: float) -> tuple[str, str]:
        """Wait `wait_s` for the end of the worker, then kill it and its descendants.

        Returns how it ended, and the end of its log.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
        status = self._process.wait()
        # A surviving descendant may keep the pipe open.
        self._listener.join(_LISTENER_LIMIT_S)
        self._log.seek(0)
        log = self._log.read().decode("utf-8", "replace")[-_MAX_LOG_CHARACTERS:]
        self._log.close()
        return exit_description(status), log


def _messages(pipe: IO[bytes]) -> Iterator[Answer | Answered]:
    """The messages of a pipe, without the output of a profiler between them.

    They end where something else looks like a message, or is too long for one.
    """
    read = b""
    while chunk := os.read(pipe.fileno(), 1 << 16):
        read += chunk
        while header := _HEADER.search(read):
            end = header.end() + int(header[1])
            if end - header.end() > MOST_RESULT_BYTES:
                return
            if len(read) < end:
                break
            try:
                message: dict[str, Any] = json.loads(read[header.end() : end])
                answer = codec.from_json(_MESSAGES[message["$"]], message)
            except (ValueError, TypeError, KeyError, RecursionError):
                return
            read = read[end:]
            yield answer
        else:
            read = read[-_MOST_BETWEEN_BYTES:]
