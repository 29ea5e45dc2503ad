"""How much the tests of robustness do, and what they share."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

FULL = os.environ.get("TIRLENS_ROBUST") == "full"
"""With ``TIRLENS_ROBUST=full`` the tests run the whole numbers of their requirements."""

_MARK = "TIRLENS_TEST_RUN"


def amount(usual: int, full: int) -> int:
    """`usual` repetitions, or `full` ones on request."""
    return full if FULL else usual


def kernel(size: int, name: str = "scale") -> str:
    """A file with one TVM kernel that takes `size` FLOP."""
    return f"""\
from tvm.script import tirx as T


@T.prim_func
def {name}(A: T.Buffer(({size},), "float32")):
    for i in T.thread_binding({size // 128}, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""


def new_mark() -> dict[str, str]:
    """A variable for the environment of a server, by which all its descendants are found."""
    return {_MARK: uuid.uuid4().hex}


def marked(mark: dict[str, str]) -> dict[int, str]:
    """The living processes that carry `mark`, with their command lines.

    One that has been killed and waits for its turn to end, on a busy machine, lives no more.
    """
    found: dict[int, str] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(_MARK) == mark[_MARK] and is_alive(process.pid):
                found[process.pid] = " ".join(process.cmdline()).strip()
    return found


def _is_ending(status: str) -> bool:
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    killed = 1 << (signal.SIGKILL - 1)
    pending = int(fields.get("SigPnd", "0"), 16) | int(fields.get("ShdPnd", "0"), 16)
    return fields["State"][0] in "ZX" or bool(pending & killed)


def is_alive(pid: int) -> bool:
    """Whether there is a process `pid` that has not been killed."""
    try:
        if sys.platform == "linux":
            return not _is_ending(Path(f"/proc/{pid}/status").read_text())
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def workers(mark: dict[str, str]) -> list[int]:
    """The worker processes of a server, without the children in which they analyse.

    A child that has just been forked still has its parent's name.
    """
    found = named(mark, "tirlens-worker")
    return [pid for pid in found if _parent(pid) not in found]


def named(mark: dict[str, str], *names: str) -> list[int]:
    """The living processes that carry `mark` and have one of the `names`."""
    return [pid for pid in marked(mark) if _name(pid) in names]


def _name(pid: int) -> str | None:
    with contextlib.suppress(psutil.Error, OSError):
        if sys.platform == "linux":
            return Path(f"/proc/{pid}/comm").read_text().strip()
        # Processes have no other name there than their program's.
        is_worker = any("tirlens_worker" in word for word in psutil.Process(pid).cmdline())
        return "tirlens-worker" if is_worker else None
    return None


def _parent(pid: int) -> int | None:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return None


def kill_together(pids: list[int]) -> None:
    """Kill processes with none of them seeing another's end."""
    processes: list[psutil.Process] = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            processes.append(psutil.Process(pid))
            processes[-1].suspend()
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def resident_mb(pid: int) -> float:
    """The memory that a process takes."""
    return psutil.Process(pid).memory_info().rss / 1e6


def until(true: Callable[[], object], seconds: float, what: str) -> float:
    """Wait for `true`, on a busy machine `stretched`; how long it took."""
    began = time.monotonic()
    limit_s = seconds
    while not true():
        if time.monotonic() - began > limit_s:
            limit_s = max(limit_s, stretched(seconds))
            assert time.monotonic() - began < limit_s, f"waited {limit_s:g} s for {what}"
        time.sleep(0.02)
    return time.monotonic() - began


def is_in_time(began: float, seconds: float) -> bool:
    """Whether it is `seconds` since `began` at most, on a busy machine `stretched`."""
    elapsed_s = time.monotonic() - began
    return elapsed_s < seconds or elapsed_s < stretched(seconds)


_LOW_PRIORITY = """
import os, time
os.nice(15)
began = time.perf_counter()
while time.process_time() < 0.1: pass
print((time.perf_counter() - began) / 0.1)
"""


def stretched(seconds: float) -> float:
    """What `seconds` of an idle machine are here to a process of a worker's priority.

    By how long such a process takes now, or by how many ask for each core: the machine may be idle
    again since what is timed began.
    """
    command = [sys.executable, "-I", "-S", "-c", _LOW_PRIORITY]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return seconds * max(1.0, float(said), os.getloadavg()[0] / (os.cpu_count() or 1))


class Recorder:
    """Stands where the stream to the client would; keeps what the server has sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.sent.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    def close(self) -> None:
        return


@contextlib.contextmanager
def server_here(encoding: str = "utf-16", **options: Any) -> Iterator[Any]:
    """The real server within this process, for tests that look inside; on a running loop."""
    from tirlens.lsp.handlers import create_server

    assert asyncio.get_running_loop()
    server = create_server()
    server.recorder = recorder = Recorder()
    server.protocol.set_writer(recorder)
    capabilities = {"general": {"positionEncodings": [encoding]}}
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    params["initializationOptions"] = options
    tell(server, "initialize", params, 1)
    assert recorder.sent[0]["result"]["capabilities"]["positionEncoding"] == encoding
    yield server


def tell(server: Any, method: str, params: Any, identity: int | None = None) -> None:
    """One message from the client."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if identity is not None:
        message["id"] = identity
    server.protocol.receive(json.dumps(message).encode())
