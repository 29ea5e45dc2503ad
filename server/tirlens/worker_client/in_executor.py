"""Analyses by the processes of an executor, on this machine or on others.

What an executor gets is a function with its arguments: the interpreter, which must be at the same
path there, and the request, which has the text. What the text imports is read where it is executed.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, Executor

from tirlens.worker_client.blocking import BlockingClient
from tirlens.worker_client.interpreter import Interpreter
from tirlens.worker_client.process import analysis_variables
from tirlens_worker.protocol import Analyze, Problem, Result


class _Kept(threading.local):
    """The warm worker of a thread, and what an analysis must have in common with it."""

    key: tuple[object, ...] = ()
    client: BlockingClient | None = None


_kept = _Kept()


def worker_key(interpreter: Interpreter) -> tuple[object, ...]:
    """What a worker must have in common with an analysis: also the variables that it sees."""
    variables = analysis_variables(interpreter.variables)
    return interpreter.identity, tuple(sorted(variables.items()))


async def analyze_in(executor: Executor, interpreter: Interpreter, request: Analyze) -> Result:
    """The result of `request` by a process of `executor`.

    A process that ends is the executor's affair; where it gives up, that is a problem of the
    result.
    """
    try:
        return await asyncio.wrap_future(executor.submit(_analyze, interpreter, request))
    except (CancelledError, asyncio.CancelledError):
        raise
    except Exception as error:
        message = f"no result of the executor: {type(error).__name__}: {error}"
        return Result(request.id, problems=(Problem("crash", message),))


def _analyze(interpreter: Interpreter, request: Analyze) -> Result:
    """The result of a request by the worker of this thread, which stays warm."""
    key = worker_key(interpreter)
    client = _kept.client
    if client is None or _kept.key != key:
        if client is not None:
            client.close()
        client = _kept.client = BlockingClient(interpreter)
        _kept.key = key
    return client.analyze(request)
