"""How much the tests of robustness do, and what they share."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
    """The living processes that carry `mark`, with their command lines (Linux)."""
    wanted = f"{_MARK}={mark[_MARK]}".encode()
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = command.decode("utf-8", "replace").strip()
    return found


def workers(mark: dict[str, str]) -> list[int]:
    """The worker processes of a server, without the children in which they analyse."""
    found = [pid for pid, command in marked(mark).items() if "tirlens_worker" in command]
    # One that has ended meanwhile was a child.
    return [pid for pid in found if _parent(pid) not in (*found, None)]


def _parent(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def resident_mb(pid: int) -> float:
    """The memory that a process takes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def until(true: Callable[[], object], seconds: float, what: str) -> float:
    """Wait for `true`; how long it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"waited {seconds:g} s for {what}"
        time.sleep(0.02)
    return time.monotonic() - began


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
    from tirlens.lsp.server import create

    assert asyncio.get_running_loop()
    server = create()
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
