"""The worker client for programs without an event loop of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType

from tirlens.worker_client.analysis_client import OnProgress, WorkerClient
from tirlens.worker_client.interpreter import Interpreter
from tirlens_worker.protocol import Analyze, Result


class BlockingClient:
    """A worker for the length of a `with` block; it stays warm from one analysis to the next."""

    def __init__(self, interpreter: Interpreter, worker_options: Sequence[str] = ()) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = WorkerClient(interpreter, worker_options=worker_options)

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        try:
            self._loop.run_until_complete(self._client.close())
        finally:
            self._loop.close()

    @property
    def log(self) -> str:
        """What the worker wrote to its standard error."""
        return self._client.log

    def analyze(self, request: Analyze, on_progress: OnProgress | None = None) -> Result:
        """As `WorkerClient.analyze`, waiting for the result."""
        return self._loop.run_until_complete(self._client.analyze(request, on_progress))


def analyze_blocking(
    interpreter: Interpreter, request: Analyze, on_progress: OnProgress | None = None
) -> Result:
    """Analyse one request with a worker of its own."""
    with BlockingClient(interpreter) as client:
        return client.analyze(request, on_progress)
