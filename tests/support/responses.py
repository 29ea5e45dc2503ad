"""How fast the server answers beside an idle one that knows its answers: see `echo_server`.

Both get the same messages by turns, so that both see the same machine.  How much slower than at
its best the idle server was tells how much of a time is the machine's noise.
"""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.rpc import Client, RpcError

Message = tuple[str, Any]
Timed = Callable[[Client, Message], float]
LINES, KERNELS = 5000, 100
# Between two keys of someone who types fast, and between two saves.
_KEYS_S, _SAVES_S = 0.05, 0.4
_ECHO = Path(__file__).with_name("echo_server.py")
_HEAD = """\
@T.prim_func(s_tir=True)
def kernel_{n}(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32")):
    for i in T.thread_binding(1024, thread="blockIdx.x"):
"""
_PART = """\
        for j in T.thread_binding(256, thread="threadIdx.x"):
            for k in T.serial(4):
                B[i, j * 4 + k] = A[i, j * 4 + k] * T.float32({n})
"""


def long_text() -> str:
    """A file of 5,000 lines with 100 kernels."""
    out = ["from tvm.script import tirx as T", "", ""]
    for n in range(KERNELS):
        parts = (_PART.format(n=part + 2) for part in range(4))
        kernel = "".join([_HEAD.format(n=n), *parts]).splitlines()
        notes = [f"    # What line {line} of this kernel is for." for line in range(30)]
        lines = [*kernel[:2], *notes, *kernel[2:]]
        out += [*lines, *[""] * (LINES // KERNELS - len(lines))]
    return "\n".join(out) + "\n"


@contextlib.contextmanager
def no_collection_here() -> Iterator[None]:
    """This process collects no garbage meanwhile.

    After some thousand tests one full collection here takes a quarter of a second, and what
    the answers bring sets it off, so that it would be counted as the server's time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@dataclass
class Times:
    """Milliseconds of one kind of message, of the server and of the idle one."""

    ours: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)

    def take(self, client: Client, idle: Client, message: Message, timed: Timed) -> None:
        """One message to each of the two."""
        self.ours.append(timed(client, message))
        self.idle.append(timed(idle, message))

    def quantile(self, share: float) -> float:
        return quantile(self.ours, share)

    def noise(self, share: float) -> float:
        """How much slower than at its best the idle server was, at least 1."""
        return max(1.0, quantile(self.idle, share) / min(self.idle))


def quantile(times: list[float], share: float) -> float:
    """The time that this share of `times` does not exceed."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(python: Path, folder: Path, rounds: int) -> dict[str, Times]:
    """Times of requests and edits in a long file while the worker is busy with another one."""
    path, busy = folder / "long.py", folder / "busy.py"
    path.write_text(long_text())
    with contextlib.ExitStack() as stack:
        stack.enter_context(no_collection_here())
        client = stack.enter_context(Client())
        client.initialize(trusted=True, interpreter=str(python), settings={"timeout": 300})
        uri = client.open(path)
        client.wait_ready(uri, timeout_s=120)
        requests = _requests(uri)
        times = {"first hints": Times([_timed(client, requests["hints"])])}
        hints = client.hints(uri)
        assert len(hints) >= 500, len(hints)
        answers = {method: client.request(method, params) for method, params in requests.values()}
        known = folder / "answers.json"
        known.write_text(json.dumps(answers))
        idle = stack.enter_context(Client(str(known), command=(str(_ECHO),)))
        idle.initialize()
        client.open(busy, "while True: pass\n" + long_text())
        client.wait(lambda: "analyzing" in client.states(busy.as_uri()), 30)
        times.update({name: Times() for name in requests})
        for _ in range(rounds):
            for name, request in requests.items():
                times[name].take(client, idle, request, _timed)
        times["first lenses"] = _first_lenses(client, folder, rounds // 2)
        times["didChange"], times["didSave"] = Times(), Times()
        for number in range(rounds // 2):
            times["didChange"].take(client, idle, _change(uri, number), _timed_notification)
            time.sleep(_KEYS_S)
        save = ("textDocument/didSave", {"textDocument": {"uri": uri}})
        for _ in range(rounds // 10):
            time.sleep(_SAVES_S)
            times["didSave"].take(client, idle, save, _timed_notification)
        times["first hints"].idle = times["first lenses"].idle = times["hints"].idle
        assert client.states(busy.as_uri())[-1] == "analyzing", "it was busy all the time"
        return times


def _requests(uri: str) -> dict[str, Message]:
    document = {"uri": uri}
    middle = {"line": LINES // 2, "character": 0}
    part = {"start": middle, "end": {"line": LINES // 2 + 100, "character": 0}}
    # A line of a kernel in the middle that has something to say.
    place = {"line": LINES // 2 + 3 + 33, "character": 14}
    return {
        "hints": ("textDocument/inlayHint", {"textDocument": document, "range": part}),
        "hover": ("textDocument/hover", {"textDocument": document, "position": place}),
        "lenses": ("textDocument/codeLens", {"textDocument": document}),
        "symbols": ("textDocument/documentSymbol", {"textDocument": document}),
    }


def _change(uri: str, number: int) -> Message:
    at = {"line": 10, "character": 6}
    change = {"range": {"start": at, "end": at}, "text": "x"}
    document = {"uri": uri, "version": number + 2}
    return "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}


def _first_lenses(client: Client, folder: Path, count: int) -> Times:
    """From the opening of a short file to its lenses, of files that were never seen."""
    times = Times()
    for number in range(count):
        path = folder / f"short_{number}.py"
        began = time.perf_counter()
        uri = client.open(path, _HEAD.format(n=number) + _PART.format(n=2))
        assert len(client.lenses(uri)) == 1
        times.ours.append((time.perf_counter() - began) * 1e3)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return times


def _timed(client: Client, request: Message) -> float:
    began = time.perf_counter()
    client.request(*request)
    return (time.perf_counter() - began) * 1e3


def _timed_notification(client: Client, notification: Message) -> float:
    """Until the server is ready for the next message, which it refuses at once."""
    began = time.perf_counter()
    client.notify(*notification)
    with contextlib.suppress(RpcError):
        client.request("tirlens/noSuchMethod", {})
    return (time.perf_counter() - began) * 1e3
