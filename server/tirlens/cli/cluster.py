"""The processes of a Dask cluster, which ``--scheduler`` names, as an executor."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tirlens.cli.errors import UsageError

_CONNECT_LIMIT_S = 30
# Tasks that wait at the scheduler keep its processes busy while results travel.
_TASKS_PER_THREAD = 2


@dataclass(frozen=True)
class Cluster:
    """An executor, and how many tasks it is given at a time."""

    executor: Executor
    tasks: int


@contextmanager
def cluster(address: str | None) -> Generator[Cluster | None, None, None]:
    """The cluster whose scheduler is at `address`; none without an address.

    Its processes must have this version of tirlens, and the interpreters of the kernels at the same
    paths. A task whose process ends is given to another one.

    Raises:
        UsageError: there is no scheduler at the address, or no package to talk to it.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(f'--scheduler needs: pip install "tirlens[dask]" ({error})') from error
    try:
        client: Any = Client(address, timeout=_CONNECT_LIMIT_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: {error}") from error
    with client:
        threads = sum(client.nthreads().values())
        executor: Executor = client.get_executor(pure=False)
        yield Cluster(executor, _TASKS_PER_THREAD * max(1, threads))
