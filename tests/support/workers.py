"""Workers that tests share: the import of a framework takes seconds.

Each analysis has a process of its own, forked from a worker; tests of that, of how workers start
and end and of what their own environment does start their own.
"""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

from support.environments import environment
from tirlens import worker_client
from tirlens_worker.protocol import Analyze, Result

TVM, TILELANG = "tvm-0.27.0.post1", "tilelang-0.1.15"


def analyzed(environment_name: str, request: Analyze) -> Result:
    """The result of a request, from the warm worker of an environment."""
    return _worker(environment_name).analyze(request)


@cache
def _worker(environment_name: str) -> worker_client.BlockingClient:
    python = environment(environment_name)
    interpreter = worker_client.find_interpreter(Path(__file__), setting=python)
    client = worker_client.BlockingClient(interpreter).__enter__()
    atexit.register(client.__exit__, None, None, None)
    return client
