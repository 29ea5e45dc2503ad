"""The client of a worker: one request at a time, with a deadline, started again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tirlens.worker_client.interpreter import Interpreter
from tirlens.worker_client.process import (
    MessageError,
    Process,
    exit_description,
    resident_bytes,
)
from tirlens.worker_client.quarantine import Quarantine
from tirlens_worker import codec
from tirlens_worker.protocol import (
    CLOSED_STATUS,
    MOST_RESULT_BYTES,
    PROTOCOL_VERSION,
    Analyze,
    Cancel,
    Hello,
    Problem,
    Progress,
    Result,
)

# Importing tilelang with torch from a cold disk was seen to take most of a minute.
_START_LIMIT_S = 120.0
# The worker enforces the time limit itself; this is how much later its result is expected.
_GRACE_S = 2.0
_CANCEL_LIMIT_S = 1.0
# A process that has closed its pipe is at its end, or it runs code that has closed it.
_END_LIMIT_S = 0.3
# About what is decoded in two milliseconds.
_LONG_MESSAGE_BYTES = 20_000
_LONGEST_BACK_OFF_S = 30.0
# A worker that ends during an analysis is replaced, once: what ended it may not be the analysis.
_ATTEMPTS = 2
_ID_BYTES = 6
# A warm tilelang with torch takes about 1 GB; user code runs in its children and not in it.
MEMORY_LIMIT_BYTES = 4 << 30
OnProgress = Callable[[Progress], None]


class StartError(Exception):
    """The worker could not be started."""


class _WorkerEndError(Exception):
    """The worker ended before its result."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class WorkerClient:
    """A worker under one interpreter, started when needed and again after a crash.

    Everything that user code does in it ends as a `Result` with problems, never as an exception.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
        worker_options: Sequence[str] = (),
    ) -> None:
        self.memory_limit_bytes = memory_limit_bytes
        self._worker_options = worker_options
        self.interpreter = interpreter
        self.hello: Hello | None = None
        self._process: Process | None = None
        self._lock = asyncio.Lock()
        self._running_id: int | None = None
        self._importing = False
        self._is_cancelled = False
        self._quarantine = Quarantine()
        self._failed_starts = 0
        self._earliest_start_s = 0.0
        self._last_log = ""
        self._cancelling: asyncio.Task[None] | None = None

    @property
    def log(self) -> str:
        """The end of what the worker wrote to its standard error."""
        return self._process.log if self._process else self._last_log

    @property
    def pid(self) -> int | None:
        """The process id of the running worker."""
        return self.hello.pid if self._process and self.hello else None

    async def start(self) -> Problem | None:
        """Start the worker, so that the first analysis finds it warm; the problem if it fails."""
        async with self._lock:
            if self.interpreter.problem is not None:
                return self.interpreter.problem
            try:
                await self._running_process()
            except StartError as error:
                return Problem("interpreter", str(error), detail=self._last_log)
            return None

    async def analyze(self, request: Analyze, on_progress: OnProgress | None = None) -> Result:
        """Analyse `request` and wait for its result; requests are taken one after the other."""
        if self.interpreter.problem is not None:
            return Result(request.id, problems=(self.interpreter.problem,))
        self._is_cancelled = False
        async with self._lock:
            known = self._quarantine.verdict(request)
            if known is not None:
                return known
            began = time.monotonic()
            try:
                result = await self._analyze_in_worker(request, on_progress)
            except StartError as error:
                problem = Problem("interpreter", str(error), detail=self._last_log)
                return Result(request.id, problems=(problem,))
            result = replace(result, duration_s=result.duration_s or time.monotonic() - began)
            return self._quarantine.note(request, result)

    async def _analyze_in_worker(self, request: Analyze, on_progress: OnProgress | None) -> Result:
        """The result of a worker, which is replaced once if it ends before.

        Raises:
            StartError: no worker can be started.
        """
        problems: list[Problem] = []
        while len(problems) < _ATTEMPTS:
            process = await self._running_process()
            if self._is_cancelled:
                return _cancelled_result(request)
            try:
                result = await self._attempt(process, request, on_progress)
            except _WorkerEndError as error:
                problems.append(error.problem)
                continue
            await self._recycle(process, result)
            return replace(result, id=request.id)
        return Result(request.id, problems=(problems[-1],))

    async def _attempt(
        self, process: Process, request: Analyze, on_progress: OnProgress | None
    ) -> Result:
        """The result of `process`.

        Raises:
            _WorkerEndError: it ended before.
        """
        # Not known before: a message that is written by code of an earlier analysis has another.
        self._running_id = int.from_bytes(os.urandom(_ID_BYTES), "big")
        try:
            return await self._exchange(process, replace(request, id=self._running_id), on_progress)
        except asyncio.CancelledError:
            await asyncio.shield(self._stop())
            raise
        finally:
            self._running_id = None
            self._importing = False
            if self._cancelling is not None:
                self._cancelling.cancel()

    def cancel(self) -> None:
        """Cancel the running analysis, whose result soon follows with a problem ``cancelled``."""
        self._is_cancelled = True
        if self._running_id is not None and self._process is not None:
            self._cancelling = asyncio.ensure_future(self._cancel(self._process, self._running_id))

    async def close(self) -> None:
        """End the worker and everything that it has started; a running analysis is cancelled."""
        # The end of the worker is no reason to start another.
        self._is_cancelled = True
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    async def _cancel(self, process: Process, request_id: int) -> None:
        with contextlib.suppress(OSError):
            await process.send(codec.dumps(Cancel(request_id)))
        while True:
            await asyncio.sleep(_CANCEL_LIMIT_S)
            if self._running_id != request_id or self._process is not process:
                return
            # An import into the warm process is worth its time: it is not done over and over.
            if not self._importing:
                await process.kill()
                return

    async def _running_process(self) -> Process:
        """The running worker, a new one if there is none.

        Raises:
            StartError: it cannot be started.
        """
        if self._process is not None:
            if not self._process.has_ended:
                return self._process
            await self._forget(self._process)
        await asyncio.sleep(max(0.0, self._earliest_start_s - time.monotonic()))
        self._failed_starts += 1
        delay = min(0.25 * 2**self._failed_starts, _LONGEST_BACK_OFF_S)
        self._earliest_start_s = time.monotonic() + delay
        python = self.interpreter.path
        try:
            process = await Process.start(python, self._worker_options, self.interpreter.variables)
        except OSError as error:
            raise StartError(f"{python} cannot be started: {error}") from error
        try:
            payload = await asyncio.wait_for(process.receive(), _START_LIMIT_S)
            self.hello = _hello(payload)
            if self.hello.protocol == PROTOCOL_VERSION:
                # The framework is imported next, and only then is the worker of use.
                await asyncio.wait_for(process.receive(), _START_LIMIT_S)
        except asyncio.TimeoutError as error:
            await self._forget(process)
            raise StartError(f"{python} did not answer within {_START_LIMIT_S:g} s") from error
        except (EOFError, ValueError) as error:
            await self._forget(process)
            raise StartError(_start_message(str(python), self._last_log)) from error
        except asyncio.CancelledError:
            await asyncio.shield(self._forget(process))
            raise
        if self.hello.protocol != PROTOCOL_VERSION:
            await self._forget(process)
            raise StartError(
                f"the worker speaks protocol {self.hello.protocol} and not {PROTOCOL_VERSION}"
            )
        self._failed_starts = 0
        self._earliest_start_s = 0.0
        self._process = process
        return process

    async def _exchange(
        self, process: Process, request: Analyze, on_progress: OnProgress | None
    ) -> Result:
        try:
            process.mark.clear()
            await process.send(codec.dumps(request))
            return await self._receive(process, request, on_progress)
        except asyncio.TimeoutError:
            await self._stop()
            message = f"the analysis was stopped after {request.time_limit_s:g} s"
            span = process.mark.span_in(request.text)
            return Result(request.id, problems=(Problem("timeout", message, span),))
        except (OSError, EOFError) as error:
            return await self._explain_end(process, request, error)

    async def _receive(
        self, process: Process, request: Analyze, on_progress: OnProgress | None
    ) -> Result:
        limit_s = request.time_limit_s + _GRACE_S
        deadline = time.monotonic() + limit_s
        left_bytes = MOST_RESULT_BYTES
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            payload = await asyncio.wait_for(process.receive(left_bytes), left_s)
            left_bytes -= len(payload)
            if len(payload) > _LONG_MESSAGE_BYTES:
                # Decoded here it would keep requests waiting.
                message = await asyncio.to_thread(_message, payload)
            else:
                message = _message(payload)
            if message is None or message.id != request.id:
                continue
            if isinstance(message, Result):
                return message
            was_importing, self._importing = self._importing, message.total == 0
            if self._importing:
                # It imports modules of the framework first; the request's time starts after.
                deadline = time.monotonic() + _START_LIMIT_S
            elif was_importing:
                deadline = time.monotonic() + limit_s
            if on_progress is not None:
                on_progress(message)

    async def _recycle(self, process: Process, result: Result) -> None:
        """End a worker that is too large or still busy; the next analysis starts a new one."""
        is_large = resident_bytes(self.pid or 0) > self.memory_limit_bytes
        is_stuck = any(problem.kind == "timeout" for problem in result.problems)
        isolates = self.hello is None or self.hello.isolates
        if self._process is process and (is_large or (is_stuck and not isolates)):
            await self._stop()

    async def _explain_end(
        self, process: Process, request: Analyze, error: OSError | EOFError
    ) -> Result:
        """The result if the worker was ended by a cancel.

        Raises:
            _WorkerEndError: it ended by itself.
        """
        runs_code = self.hello is not None and not self.hello.isolates
        has_closed = runs_code and not await process.ends_within(_END_LIMIT_S)
        await process.kill()
        status = await process.wait()
        await self._forget(process)
        if self._is_cancelled:
            return _cancelled_result(request)
        message = f"the worker ended during the analysis ({exit_description(status)})"
        if isinstance(error, MessageError):
            message = "something else than results was written to the worker's pipe"
        elif has_closed or status == CLOSED_STATUS:
            message = "the process closed the files of its own analysis"
        span = process.mark.span_in(request.text)
        raise _WorkerEndError(Problem("crash", message, span, detail=self._last_log[-4000:]))

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await self._forget(process)

    async def _forget(self, process: Process) -> None:
        self._process = None
        await process.kill()
        self._last_log = process.log


def _cancelled_result(request: Analyze) -> Result:
    return Result(request.id, problems=(Problem("cancelled", "the analysis was given up"),))


def _message(payload: bytes) -> Result | Progress | None:
    """The message of a worker during an analysis; None for any other message.

    Raises:
        MessageError: it cannot be decoded.
    """
    try:
        data: dict[str, Any] = json.loads(payload)
        if data["$"] == "Result":
            return codec.from_json(Result, data)
        return codec.from_json(Progress, data) if data["$"] == "Progress" else None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise MessageError(str(error)) from error


def _hello(payload: bytes) -> Hello:
    data = json.loads(payload)
    if not isinstance(data, dict) or "protocol" not in data:
        raise ValueError("not a greeting")
    return codec.from_json(Hello, data)


def _start_message(python: str, log: str) -> str:
    lines = [line for line in log.strip().splitlines() if line.strip()]
    return f"no worker could be started under {python}: {lines[-1] if lines else 'no reason given'}"
